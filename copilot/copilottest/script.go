package copilottest

import (
	"strings"

	"github.com/copilot-portal/portal/copilot"
)

// Echo is the script that says what it was told, in one turn of the model.
func Echo(t *Turn) {
	t.Answer(func() { t.Say(t.Prompt) })
}

// Say streams a message, a word a delta.
func (t *Turn) Say(text string) {
	id := t.ID("message")
	t.Emit(copilot.MessageStarted{ID: id})
	for word := range strings.SplitAfterSeq(text, " ") {
		t.Emit(copilot.MessageDelta{ID: id, Text: word})
	}
	t.Emit(copilot.MessageEnded{ID: id, Text: text})
}

// Think streams a thought, a word a delta.
func (t *Turn) Think(text string) {
	id := t.ID("thought")
	t.Emit(copilot.ReasoningStarted{ID: id})
	for word := range strings.SplitAfterSeq(text, " ") {
		t.Emit(copilot.ReasoningDelta{ID: id, Text: word})
	}
	t.Emit(copilot.ReasoningEnded{ID: id, Text: text})
}

// Call streams a call of a tool that gives this result.
func (t *Turn) Call(tool, arguments, result string) {
	id := t.ID("call")
	t.Emit(
		copilot.ToolStarted{ID: id, Name: tool, Arguments: []byte(arguments)},
		copilot.ToolOutput{ID: id, Text: result},
		copilot.ToolEnded{ID: id, Result: &copilot.ToolResult{Content: result}},
	)
}
