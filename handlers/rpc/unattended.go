package rpc

import (
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// attributeCallback is the attribute in which a session keeps the callback address of its client.
const attributeCallback = "rpc.callback"

// byCallback are the questions that callbacks carry.
func byCallback() copilot.Capabilities {
	return copilot.Capabilities{Kinds: []event.QuestionKind{event.AskPermission}}
}

// byAnswers are the questions that a client can answer by question.answer.
func byAnswers() copilot.Capabilities {
	return copilot.Capabilities{Kinds: []event.QuestionKind{
		event.AskPermission, event.AskInput, event.AskForm, event.AskSignIn, event.AskPlan,
	}}
}

// Unattended returns what happens to questions that no client can answer in sessions of this
// dialect: the current plugin has no answers to them. callback is the configured address, "" for
// none.
func Unattended(after time.Duration, d permission.Decision, callback string) map[string]copilot.Unattended {
	how := copilot.Unattended{After: after, Decision: d}
	if callback != "" {
		how.Answers = byCallback()
	}
	return map[string]copilot.Unattended{Origin: how}
}
