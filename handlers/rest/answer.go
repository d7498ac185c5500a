package rest

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
)

// answer answers a question of the agent.
func (a *API) answer(c *gin.Context) {
	a.with(c, func(s *copilot.Session) {
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
		reply(c, s.Answer(param(c, "request"), answer, Origin))
	})
}

// decodeAnswer reads {approved, remember?, reason?} or {answer}.
func decodeAnswer(b []byte) (copilot.Answer, error) {
	var wire struct {
		Approved *bool   `json:"approved"`
		Remember bool    `json:"remember"`
		Reason   string  `json:"reason"`
		Answer   *string `json:"answer"`
	}
	if err := json.Unmarshal(b, &wire); err != nil {
		return copilot.Answer{}, copilot.Errorf(copilot.Invalid, "the body is no JSON object of an answer: %w", err)
	}
	switch {
	case wire.Approved != nil && wire.Answer != nil:
		return copilot.Answer{}, copilot.Errorf(copilot.Invalid, `give "approved" to a permission or "answer" to a question, not both`)
	case wire.Answer != nil && *wire.Answer == "":
		return copilot.Answer{}, copilot.Errorf(copilot.Invalid, `"answer" is empty`)
	case wire.Approved == nil && wire.Answer == nil:
		return copilot.Answer{}, copilot.Errorf(copilot.Invalid, `the body needs "approved" (true or false) or "answer" (text)`)
	case wire.Answer != nil:
		return copilot.Answer{Text: *wire.Answer}, nil
	}
	return copilot.Answer{Approved: *wire.Approved, Remember: wire.Remember, Reason: wire.Reason}, nil
}
