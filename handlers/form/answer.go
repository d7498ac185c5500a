package form

import (
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Answer is the JSON of an [event.Answer]: {approved, remember?, scope?, reason?}, for a form with fields, for a plan perhaps with
// the chosen way as answer; or {answer}, which is also the result of a tool; or {failed, reason?} from a tool.
type Answer struct {
	Approved *bool                `json:"approved"`
	Remember bool                 `json:"remember"`
	Scope    permission.ScopeKind `json:"scope"`
	Reason   string               `json:"reason"`
	Text     *string              `json:"answer"`
	Fields   map[string]any       `json:"fields"`
	Failed   bool                 `json:"failed"`
}

// Decode returns the answer. It rejects one that says nothing or contradicts itself, which must not pass as a refusal; the session
// checks whether the answer fits the question. Errors are of kind [fault.Invalid].
func (a Answer) Decode() (event.Answer, error) {
	if problem := a.problem(); problem != "" {
		return event.Answer{}, fault.Errorf(fault.Invalid, "%s", problem)
	}
	answer := event.Answer{Approved: a.Approved != nil && *a.Approved, Remember: a.Remember, Scope: a.Scope, Reason: a.Reason, Failed: a.Failed}
	if a.Text != nil {
		answer.Text = *a.Text
	}
	if a.Fields == nil {
		return answer, nil
	}
	fields, err := Values(a.Fields)
	if err != nil {
		return event.Answer{}, err
	}
	answer.Fields = fields
	return answer, nil
}

// problem describes what is missing or contradictory, "" if nothing is.
func (a Answer) problem() string {
	decides, hasText, hasFields := a.Approved != nil, a.Text != nil, a.Fields != nil
	if a.Failed && (decides || hasText || hasFields) {
		return `"failed" goes with "reason" alone`
	}
	switch approves := decides && *a.Approved; {
	case a.Failed, approves:
	case hasFields:
		return `"fields" go with "approved": true`
	case !decides && !hasText:
		return `"approved" (true or false), "answer" (text) or "failed" (true) is missing`
	case decides && hasText:
		return `"answer" goes with "approved": true or stands alone`
	}
	return ""
}
