package page

import (
	"time"

	"github.com/copilot-portal/portal/handlers/render"
)

// Limits of syntax colors in a diff. What exceeds them is plain text.
const (
	maxColoredDiff = 256 << 10   // bytes of a diff
	maxColoredLine = 2000        // bytes of a line
	maxColoring    = time.Second // time to color a diff
)

// addColors adds HTML with syntax colors to the lines of hunks. The two sides of a hunk are colored separately: each is a piece of a
// file, and the lines of both together are not.
func addColors(hunks []hunk, before, after string) {
	began, size := time.Now(), 0
	for _, h := range hunks {
		for _, l := range h.Lines {
			size += len(l.Text)
		}
		if size > maxColoredDiff || time.Since(began) > maxColoring {
			return
		}
		colorSide(h.Lines, "+", before) // removed lines have the colors of the file before
		colorSide(h.Lines, "-", after)
	}
}

// colorSide colors the lines of one side: those that are not of a kind.
func colorSide(lines []line, other, file string) {
	var texts []string
	var of []int
	for i, l := range lines {
		if l.Kind == other {
			continue
		}
		if len(l.Text) > maxColoredLine {
			return
		}
		texts, of = append(texts, l.Text), append(of, i)
	}
	for i, html := range render.Lines(texts, file) {
		lines[of[i]].HTML = html
	}
}
