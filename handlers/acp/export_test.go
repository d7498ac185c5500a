package acp

import (
	"strings"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
)

// For the tests of package acp_test.

// Entry returns an entry of a record.
func Entry(n uint64, superseded bool, b event.Body) follow.Entry {
	return follow.Entry{N: n, Superseded: superseded, Value: event.Event{Run: "run", Body: b}}
}

// EncodeTexts returns the texts of the chunks that entries make.
func EncodeTexts(entries ...follow.Entry) string {
	c := newEncoder("/", acp.ClientCapabilities{}, func(string) bool { return false })
	for _, e := range entries {
		c.encode(e)
	}
	var all strings.Builder
	for _, i := range c.take() {
		if x, ok := i.update.(chunk); ok {
			text, _ := x.Content.(textBlock)
			all.WriteString(text.Text)
		}
	}
	return all.String()
}

// Lines returns the lines that a file: URI selects.
func Lines(uri string) (first, last int) {
	a, _ := fileOf(uri)
	return a.First, a.Last
}
