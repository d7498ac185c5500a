package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs"
)

// display returns the display for this output: the screen in a terminal, otherwise lines.
func (p Process) display(asJSON bool) display {
	f, isFile := p.Out.(*os.File)
	var show display
	switch {
	case isFile && !asJSON && term.IsTerminal(int(f.Fd())) && !slices.Contains(p.Environ, "TERM=dumb"):
		noColour := slices.ContainsFunc(p.Environ, func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") && v != "NO_COLOR=" })
		size := func() (int, int, error) { return term.GetSize(int(f.Fd())) }
		return (&screen{out: p.Out, colour: !noColour, size: size, notes: map[int]string{}}).show
	case asJSON:
		show = p.showJSON
	default:
		show = p.showLine
	}
	return func(u update, i jobs.JobInfo) error {
		if u.kind == jobCancelled {
			p.Err.Printf("%s\n", cancelling)
		}
		return show(u, i)
	}
}

// showJSON prints each event as a line of JSON.
func (p Process) showJSON(u update, i jobs.JobInfo) error {
	if u.kind != jobEvent {
		return nil
	}
	line, err := eventJSON(u.event, i.ID)
	if err != nil {
		return err
	}
	_, err = p.Out.Write(append(line, '\n'))
	return err
}

// eventJSON encodes an event as one JSON object, with the fields of the record (number, time, job) and, for
// events of a task, its work and task.
func eventJSON(e jobs.Event, job string) ([]byte, error) {
	keys := map[string]any{}
	body := e.Body
	if event, ok := body.(jobs.WorkEvent); ok {
		body = event.Body
		keys["workId"], keys["taskId"] = event.Work, event.Task
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, err
	}
	keys["number"], keys["time"], keys["jobId"], keys["callback"] = e.Number, e.Time.UTC(), job, jobs.Name(body)
	return jsonrpc.Encode(keys)
}

// cancelling is shown after Ctrl-C.
const cancelling = "Cancelling the job. To stop at once, press Ctrl-C again after a second."

// showLine prints each event as a line.
func (p Process) showLine(u update, i jobs.JobInfo) error {
	text := ""
	switch e := u.event; u.kind {
	case secondPassed, jobCancelled:
	case jobEnded:
		text = summary(i) + "\n"
	case jobEvent:
		if e.Number == 1 {
			text = fmt.Sprintf("job %s: %s\n", i.ID, plain(i.Name, maxName))
		}
		if what := eventLine(e.Body, i); what != "" {
			text += fmt.Sprintf("%s  %s\n", e.Time.Local().Format(time.TimeOnly), what)
		}
	}
	_, err := io.WriteString(p.Out, text)
	return err
}

// eventLine returns one line for an event, or "" if people do not need to know about it.
func eventLine(b jobs.Body, i jobs.JobInfo) string {
	switch b := b.(type) {
	case jobs.WorkStarted:
		return nameOf(b.Work, i) + " started"
	case jobs.WorkStopped:
		return nameOf(b.Work, i) + " " + looks[b.Status].name
	case jobs.WorkEvent:
		if text := taskEventLine(b.Body); text != "" {
			return nameOf(b.Work, i) + ": " + text
		}
	case jobs.JobError:
		return plain(b.Error, maxNote)
	}
	return ""
}

// maxNote is the length, in characters, to which texts in a line are cut.
const maxNote = 400

// taskEventLine returns one line for an event of a task, or "".
func taskEventLine(b jobs.Body) string {
	switch b := b.(type) {
	case jobs.TaskSessionStarted:
		return "session " + label(b.Session, b.Checks, " checks")
	case jobs.TaskDecision:
		return plain(b.Reason, maxNote)
	case jobs.TaskError:
		return plain(b.Error, maxNote)
	}
	return ""
}

// look is how a status is shown: its name in texts, its sign, which does not depend on colour, and the colour.
type look struct {
	name, sign string
	colour     int
}

// The colours of terminals.
const (
	red    = 31
	green  = 32
	yellow = 33
	dim    = 90
)

var looks = map[jobs.Status]look{ //nolint:gochecknoglobals // a constant in all but syntax
	jobs.Pending: {"waits", "·", dim}, jobs.Running: {"is running", "▸", yellow}, jobs.Succeeded: {"succeeded", "✓", green},
	jobs.Failed: {"failed", "✗", red}, jobs.Canceled: {"was cancelled", "–", yellow}, jobs.Interrupted: {"was interrupted", "!", red},
}

// label is the short id of a session, with a note if it checks another.
func label(session string, checks bool, note string) string {
	if checks {
		return short(session) + note
	}
	return short(session)
}

// nameOf returns the name of a work for people. It includes the number if several works run the same task.
func nameOf(work int, i jobs.JobInfo) string {
	for _, w := range i.Works {
		if w.Work == work {
			return fmt.Sprintf("%d %s", work, plain(w.Name, maxName))
		}
	}
	return fmt.Sprint(work)
}

// summary says how a job ended and how to continue it.
func summary(i jobs.JobInfo) string {
	text := fmt.Sprintf("%s %s after %v, with %d sessions", plain(i.Name, maxName), looks[i.Status].name, elapsed(i), i.Sessions)
	if i.Error != "" {
		text += ": " + plain(i.Error, maxNote)
	}
	if i.Status == jobs.Succeeded {
		return text + "."
	}
	return text + fmt.Sprintf(".\nportal jobs continue %s continues it.", short(i.ID))
}

func elapsed(i jobs.JobInfo) time.Duration {
	end := i.Ended
	if end.IsZero() {
		end = time.Now()
	}
	return end.Sub(i.Started).Round(time.Second)
}

// screen shows a job in a terminal and redraws it in place: a progress bar and the works below it.
type screen struct {
	out     io.Writer
	colour  bool
	size    func() (width, height int, err error)
	notes   map[int]string // the latest event of each work
	drawn   int            // lines drawn last time
	message string         // shown below the works
}

// show handles an update and redraws the screen.
func (s *screen) show(u update, i jobs.JobInfo) error {
	switch u.kind {
	case secondPassed:
	case jobEvent:
		s.note(u.event.Body)
	case jobCancelled:
		s.message = cancelling
	case jobEnded:
		s.message = ""
		return s.draw(i, summary(i)+"\n")
	}
	return s.draw(i, "")
}

// note keeps the latest event of a work.
func (s *screen) note(b jobs.Body) {
	switch b := b.(type) {
	case jobs.WorkStarted:
		delete(s.notes, b.Work)
	case jobs.WorkEvent:
		if text := taskEventLine(b.Body); text != "" {
			s.notes[b.Work] = text
		}
	}
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
	if s.message != "" {
		rows = append(rows, row{text: s.message})
	}
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\r\x1b[J", s.drawn)
	}
	for _, r := range rows {
		mark := fitted(r.mark, width-1) // some terminals wrap in the last column
		text := fitted(r.text, width-1-cells(mark))
		if s.colour && r.colour != 0 && mark != "" {
			mark = fmt.Sprintf("\x1b[%dm%s\x1b[0m", r.colour, mark)
		}
		b.WriteString(mark + text + "\n")
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

func (s *screen) head(i jobs.JobInfo) row {
	done := 0
	for _, w := range i.Works {
		if w.Status == jobs.Succeeded {
			done++
		}
	}
	full := done * barWidth / max(len(i.Works), 1)
	if i.Status == jobs.Succeeded {
		full = barWidth
	}
	bar := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	return row{looks[i.Status].colour, bar, fmt.Sprintf(" %d/%d  %s  %v", done, len(i.Works), plain(i.Name, maxName), elapsed(i))}
}

// works returns as many works as fit into room lines, those in progress first.
func (s *screen) works(i jobs.JobInfo, room int) []row {
	from := slices.IndexFunc(i.Works, func(w jobs.Progress) bool { return w.Status == jobs.Running })
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
		rows = append(rows, row{looks[w.Status].colour, looks[w.Status].sign, text})
	}
	return rows
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
