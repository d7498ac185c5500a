package rpc

import (
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// attributeCallback is under which name a session keeps the address of call-backs that its client gave.
const attributeCallback = "rpc.callback"

// byCallback is what a plugin is called back for.
func byCallback() copilot.Capabilities {
	return copilot.Capabilities{Kinds: []event.QuestionKind{event.AskPermission}}
}

// byAnswers is what a client can answer by question.answer.
func byAnswers() copilot.Capabilities {
	return copilot.Capabilities{Kinds: []event.QuestionKind{
		event.AskPermission, event.AskInput, event.AskForm, event.AskSignIn, event.AskPlan,
	}}
}

// Unattended says what becomes of questions that nobody can answer in sessions of this dialect: the plugin of today has no
// answer to them. callback is the address that is configured, "" for none.
func Unattended(after time.Duration, d permission.Decision, callback string) map[string]copilot.Unattended {
	how := copilot.Unattended{After: after, Decision: d}
	if callback != "" {
		how.Answers = byCallback()
	}
	return map[string]copilot.Unattended{Origin: how}
}
