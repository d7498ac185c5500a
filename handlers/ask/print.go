package ask

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/plain"
)

// printer prints events.
type printer interface{ print(e event.Event) error }

func newPrinter(o Options) printer {
	if o.JSON {
		e := json.NewEncoder(o.Out)
		e.SetEscapeHTML(false)
		return lines{e}
	}
	return &text{out: o.Out, notes: o.Notes, color: o.Color, printed: map[string]bool{}, agents: map[string]string{}}
}

// text prints the answer as it streams, and dimmed notes about the agent's work.
type text struct {
	out, notes io.Writer
	color      bool
	printed    map[string]bool   // messages of which some text was printed
	agents     map[string]string // sub-agents at work, by id
	todos      string            // as last printed
	open       bool              // the last line of the answer is incomplete
}

func (t *text) print(e event.Event) error {
	switch b := e.Body.(type) {
	case event.SubagentStarted:
		return t.begin(b)
	case event.SubagentEnded:
		return t.end(b)
	}
	if e.Agent != "" {
		return nil // texts of sub-agents are for the main agent
	}
	switch b := e.Body.(type) {
	case event.MessageDelta:
		t.printed[b.ID] = true
		return t.writeText(b.Text)
	case event.MessageEnded:
		return t.endMessage(b)
	case event.ToolStarted:
		return t.note("%s %s", b.Name, summary(b.Arguments))
	case event.ToolEnded:
		if b.Error != nil {
			return t.note("failed: %s", oneLine(b.Error.Text))
		}
	}
	return t.planEvent(e.Body)
}

// endMessage prints the text of a message unless its deltas were printed.
func (t *text) endMessage(b event.MessageEnded) error {
	if !t.printed[b.ID] {
		if err := t.writeText(b.Text); err != nil {
			return err
		}
	}
	return t.endLine()
}

func (t *text) writeText(s string) error {
	if s == "" {
		return nil
	}
	t.open = !strings.HasSuffix(s, "\n")
	_, err := io.WriteString(t.out, plain.Text(s))
	return err
}

func (t *text) endLine() error {
	if !t.open {
		return nil
	}
	return t.writeText("\n")
}

func (t *text) note(format string, args ...any) error {
	if err := t.endLine(); err != nil {
		return err
	}
	line := "· " + plain.Text(fmt.Sprintf(format, args...))
	if t.color {
		line = "\x1b[2m" + line + "\x1b[0m"
	}
	_, err := fmt.Fprintln(t.notes, line)
	return err
}

// summary returns the argument of a tool call that says best
// what the call is about.
func summary(arguments json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(arguments, &fields) != nil {
		return ""
	}
	for _, key := range []string{"command", "path", "url", "query", "pattern", "question", "description"} {
		if s, ok := fields[key].(string); ok {
			return oneLine(s)
		}
	}
	return ""
}

// oneLine returns a text of the agent on one line, safe to print.
func oneLine(s string) string { return plain.Line(plain.Text(s), 100) }
