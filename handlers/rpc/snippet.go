package rpc

import (
	"cmp"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/wire"
)

// snippet is an item of the context of a prompt: a file or some of its lines, perhaps with the
// text of the editor.
type snippet struct {
	File      string `json:"file"`
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Content   string `json:"content"`
	Symbol    string `json:"symbol"`
}

// attachments returns the items as attachments.
func attachments(items []snippet) []event.Attachment {
	return wire.List(items, func(i snippet) event.Attachment {
		a := event.Attachment{Path: i.File, First: i.StartLine, Last: i.EndLine, Text: i.Content, Symbol: i.Symbol}
		if i.File == "" {
			a.Name = cmp.Or(i.Symbol, "selection")
		}
		return a
	})
}
