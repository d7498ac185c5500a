package transcript

import (
	"fmt"
	"strings"
)

// log is the conversation so far, for error messages.
type log struct{ lines []string }

// The number of lines in an error message, and the length of each.
const (
	shownLines  = 25
	shownOfLine = 600
)

func (l *log) add(direction, line string) {
	if len(line) > shownOfLine {
		line = fmt.Sprintf("%s… (%d bytes)", line[:shownOfLine], len(line))
	}
	l.lines = append(l.lines, "\t"+direction+line)
}

func (l *log) note(text string) { l.lines = append(l.lines, "\t("+text+")") }

// report returns an error that says where and why a script failed, with the preceding conversation.
func (l *log) report(script string, s Step, err error, stderr string) error {
	return fmt.Errorf("%s.txt:%d: %s %w\n\nThe conversation:\n%s\n\nStandard error:\n%s",
		script, s.Line, s.Verb, err, tail(l.lines), tail(strings.Split(strings.TrimSpace(stderr), "\n")))
}

func tail(lines []string) string { return strings.Join(lines[max(0, len(lines)-shownLines):], "\n") }

// texts lists the expected messages.
func texts(steps []Step) string {
	list := make([]string, len(steps))
	for i, s := range steps {
		list[i] = "\t" + s.Text
	}
	return strings.Join(list, "\n")
}
