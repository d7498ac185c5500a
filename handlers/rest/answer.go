package rest

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/form"
	"github.com/copilot-portal/portal/handlers/wire"
)

// answer answers a question of the agent.
func answer(c *gin.Context, s *copilot.Session) (any, error) {
	b, err := body(c, maxAnswer)
	if err != nil {
		return nil, err
	}
	answer, err := decodeAnswer(b)
	if err != nil {
		return nil, err
	}
	return nil, s.AnswerAs(c.Request.Context(), wire.Param(c, "request"), answer, Origin)
}

// decodeAnswer reads a [form.Answer]. This dialect has no use for an empty text: it reports no calls of client tools.
func decodeAnswer(b []byte) (event.Answer, error) {
	var answer form.Answer
	if err := json.Unmarshal(b, &answer); err != nil {
		return event.Answer{}, fault.Errorf(fault.Invalid, "the body is not a JSON object with an answer: %w", err)
	}
	if answer.Text != nil && *answer.Text == "" {
		return event.Answer{}, fault.Errorf(fault.Invalid, `"answer" is empty`)
	}
	return answer.Decode()
}
