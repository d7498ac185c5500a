package ask

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/plain"
)

// printer shows events.
type printer interface{ print(e event.Event) error }

func newPrinter(o Options) printer {
	if o.JSON {
		e := json.NewEncoder(o.Out)
		e.SetEscapeHTML(false)
		return lines{e}
	}
	return &text{out: o.Out, notes: o.Notes, colour: o.Colour, told: map[string]bool{}, agents: map[string]string{}}
}

// text shows the answer as it streams, and on the side, dim, what the agent does.
type text struct {
	out, notes io.Writer
	colour     bool
	told       map[string]bool   // messages of which something was shown
	agents     map[string]string // the sub-agents at work, by id
	todos      string            // as they were shown last
	open       bool              // the last line of the answer has no end
}

func (t *text) print(e event.Event) error {
	switch b := e.Body.(type) {
	case event.SubagentStarted:
		return t.begin(b)
	case event.SubagentEnded:
		return t.end(b)
	}
	if e.Agent != "" {
		return nil // what sub-agents say is for the main agent
	}
	switch b := e.Body.(type) {
	case event.MessageDelta:
		t.told[b.ID] = true
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

// endMessage is the end of a message, of which deltas may have shown all.
func (t *text) endMessage(b event.MessageEnded) error {
	if !t.told[b.ID] {
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
	if t.colour {
		line = "\x1b[2m" + line + "\x1b[0m"
	}
	_, err := fmt.Fprintln(t.notes, line)
	return err
}

// summary is the first text among the arguments of a tool, which usually says
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

func oneLine(s string) string { return plain.Line(s, 100) }
