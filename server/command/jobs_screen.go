package command

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/copilot-portal/portal/jobs"
)

// screen shows a job in a terminal and redraws it in place: a progress bar and the works below it.
type screen struct {
	out    io.Writer
	colour bool
	size   func() (width, height int, err error)
	notes  map[int]string // the latest event of each work
	drawn  int            // lines drawn last time
	said   string         // shown below the works
}

// show handles an update and redraws the screen.
func (s *screen) show(u update, i jobs.JobInfo) error {
	if u.event != nil {
		switch b := u.event.Body.(type) {
		case jobs.WorkStarted:
			delete(s.notes, b.Work)
		case jobs.WorkEvent:
			if text := taskEventLine(b.Body); text != "" {
				s.notes[b.Work] = text
			}
		}
	}
	if u.cancelled {
		s.said = cancelling
	}
	if u.ended {
		s.said = ""
		return s.draw(i, summary(i)+"\n")
	}
	return s.draw(i, "")
}

// The size of a terminal that does not report one, and the width of the progress bar.
const (
	usualWidth, usualHeight = 80, 24
	barWidth                = 20
)

// draw redraws everything in a single write to avoid flicker.
func (s *screen) draw(i jobs.JobInfo, behind string) error {
	width, height, err := s.size()
	if err != nil || width < 1 || height < 1 {
		width, height = usualWidth, usualHeight
	}
	rows := append([]row{s.head(i)}, s.works(i, max(height-4, 1))...)
	if s.said != "" {
		rows = append(rows, row{text: s.said})
	}
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", s.drawn)
	}
	for _, r := range rows {
		b.WriteString(s.painted(r, width-1) + "\n") // some terminals wrap after the last column
	}
	s.drawn = len(rows)
	_, err = io.WriteString(s.out, b.String()+behind)
	return err
}

// row is one line. Its beginning may be coloured.
type row struct {
	colour int // 0 means none
	mark   string
	text   string
}

func (s *screen) painted(r row, width int) string {
	mark := fitted(r.mark, width)
	text := fitted(r.text, width-cells(mark))
	if !s.colour || r.colour == 0 || mark == "" {
		return mark + text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m%s", r.colour, mark, text)
}

// The colours of terminals.
const (
	red    = 31
	green  = 32
	yellow = 33
	dim    = 90
)

func (s *screen) head(i jobs.JobInfo) row {
	done := 0
	for _, w := range i.Works {
		if w.Status == jobs.Succeeded {
			done++
		}
	}
	full := 0
	if len(i.Works) > 0 {
		full = done * barWidth / len(i.Works)
	}
	if i.Status == jobs.Succeeded {
		full = barWidth
	}
	bar := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	return row{colourOf(i.Status), bar, fmt.Sprintf(" %d/%d  %s  %v", done, len(i.Works), plain(i.Name, maxName), elapsed(i))}
}

// works returns as many works as fit into room lines, those in progress first.
func (s *screen) works(i jobs.JobInfo, room int) []row {
	from := 0
	for at, w := range i.Works {
		if w.Status == jobs.Running {
			from = at
			break
		}
	}
	from = max(0, min(from, len(i.Works)-room))
	var rows []row
	for _, w := range i.Works[from:min(len(i.Works), from+room)] {
		text := " " + plain(w.Name, maxName)
		if w.Rounds > 1 {
			text += fmt.Sprintf(" (%d times)", w.Rounds)
		}
		if about := s.notes[w.Work]; about != "" && w.Status != jobs.Succeeded {
			text += "  " + about
		}
		rows = append(rows, row{colourOf(w.Status), marks[w.Status], text})
	}
	return rows
}

// marks are the signs of statuses, which do not depend on colour.
var marks = map[jobs.Status]string{ //nolint:gochecknoglobals // a constant in all but syntax
	jobs.Pending: "·", jobs.Running: "▸", jobs.Succeeded: "✓", jobs.Failed: "✗", jobs.Canceled: "–", jobs.Interrupted: "!",
}

func colourOf(s jobs.Status) int {
	switch s {
	case jobs.Succeeded:
		return green
	case jobs.Failed, jobs.Interrupted:
		return red
	case jobs.Running, jobs.Canceled:
		return yellow
	case jobs.Pending:
	}
	return dim
}

// fitted shortens a text to width columns.
func fitted(text string, width int) string {
	if cells(text) <= width {
		return text
	}
	used := 1 // for the ellipsis
	for at, r := range text {
		if used += cellsOf(r); used > width {
			return text[:at] + strings.Repeat("…", min(1, max(width, 0)))
		}
	}
	return text
}

// cells returns the width of a text in terminal columns. It may overestimate but never underestimates.
func cells(text string) (n int) {
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	const firstWide, dashes, blocks, firstWideSign = 0x1100, 0x2000, 0x2800, 0x2e80
	switch {
	case unicode.Is(unicode.Mn, r):
		return 0
	case r < firstWide, r >= dashes && r < 0x2600, r >= blocks && r < firstWideSign:
		return 1
	case r == '✓' || r == '✗':
		return 1
	}
	return 2
}
