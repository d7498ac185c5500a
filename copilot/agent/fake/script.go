package fake

import (
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
)

// Echo is the script that repeats the prompt, in one turn of the model.
func Echo(t *Turn) {
	t.Answer(func() { t.Say(t.Prompt) })
}

// Say streams a message, one word per delta.
func (t *Turn) Say(text string) {
	id := t.ID("message")
	t.Emit(event.MessageStarted{ID: id})
	for word := range strings.SplitAfterSeq(text, " ") {
		t.Emit(event.MessageDelta{ID: id, Text: word})
	}
	t.Emit(event.MessageEnded{ID: id, Text: text})
}

// Think streams a thought, one word per delta.
func (t *Turn) Think(text string) {
	id := t.ID("thought")
	t.Emit(event.ReasoningStarted{ID: id})
	for word := range strings.SplitAfterSeq(text, " ") {
		t.Emit(event.ReasoningDelta{ID: id, Text: word})
	}
	t.Emit(event.ReasoningEnded{ID: id, Text: text})
}

// Call emits a tool call with this result.
func (t *Turn) Call(tool, arguments, result string) {
	id := t.ID("call")
	t.Emit(
		event.ToolStarted{ID: id, Name: tool, Arguments: []byte(arguments)},
		event.ToolOutput{ID: id, Text: result},
		event.ToolEnded{ID: id, Result: &event.ToolResult{Content: result}},
	)
}
