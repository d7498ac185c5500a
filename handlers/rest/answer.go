package rest

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/form"
	"github.com/copilot-portal/portal/handlers/wire"
)

// answer answers a question of the agent.
func (a *API) answer(c *gin.Context) {
	a.withSession(c, func(s *copilot.Session) {
		b, err := body(c, maxAnswer)
		if err != nil {
			fail(c, err)
			return
		}
		answer, err := decodeAnswer(b)
		if err != nil {
			fail(c, err)
			return
		}
		reply(c, s.AnswerAs(c.Request.Context(), wire.Param(c, "request"), answer, Origin))
	})
}

// wireAnswer is {approved, remember?, scope?, reason?}, for a form with fields, for a plan with the chosen way as answer;
// or {answer}; or {failed, reason?} from a tool.
type wireAnswer struct {
	Approved *bool                `json:"approved"`
	Remember bool                 `json:"remember"`
	Scope    permission.ScopeKind `json:"scope"`
	Reason   string               `json:"reason"`
	Answer   *string              `json:"answer"`
	Fields   map[string]any       `json:"fields"`
	Failed   bool                 `json:"failed"`
}

// decodeAnswer reads an answer. The session checks whether it fits the question.
func decodeAnswer(b []byte) (event.Answer, error) {
	var wire wireAnswer
	if err := json.Unmarshal(b, &wire); err != nil {
		return event.Answer{}, fault.Errorf(fault.Invalid, "the body is not a JSON object with an answer: %w", err)
	}
	if problem := wire.problem(); problem != "" {
		return event.Answer{}, fault.Errorf(fault.Invalid, "%s", problem)
	}
	answer := event.Answer{Remember: wire.Remember, Scope: wire.Scope, Reason: wire.Reason, Failed: wire.Failed}
	if wire.Approved != nil {
		answer.Approved = *wire.Approved
	}
	if wire.Answer != nil {
		answer.Text = *wire.Answer
	}
	if wire.Fields == nil {
		return answer, nil
	}
	fields, err := form.Values(wire.Fields)
	if err != nil {
		return event.Answer{}, err
	}
	answer.Fields = fields
	return answer, nil
}

// problem describes what is missing or contradictory, "" if nothing is. A contradictory answer must not pass as a
// denial.
func (w wireAnswer) problem() string {
	text := w.Answer != nil
	switch {
	case w.Failed && (w.Approved != nil || text || w.Fields != nil):
		return `"failed" goes with "reason" alone`
	case text && *w.Answer == "":
		return `"answer" is empty`
	case w.Approved == nil || !*w.Approved:
		return w.unapproved()
	}
	return ""
}

// unapproved is problem for answers that do not approve.
func (w wireAnswer) unapproved() string {
	switch {
	case w.Fields != nil:
		return `"fields" go with "approved": true`
	case w.Answer != nil && w.Approved != nil:
		return `"answer" goes with "approved": true or stands alone`
	case w.Answer == nil && w.Approved == nil && !w.Failed:
		return `the body needs "approved" (true or false) or "answer" (text) or "failed" (true)`
	}
	return ""
}
