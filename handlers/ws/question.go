package ws

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/form"
	"github.com/copilot-portal/portal/jobs/operation"
)

// maxAnswer is the largest body of an answer, in bytes.
const maxAnswer = 1 << 20

// reaction is an answer to a question of the agent: {approved, remember?, reason?}, of a form with fields, or {answer}.
type reaction struct {
	Approved *bool          `json:"approved"`
	Remember bool           `json:"remember"`
	Reason   string         `json:"reason"`
	Answer   string         `json:"answer"`
	Fields   map[string]any `json:"fields"`
}

func (r reaction) domain() (a copilot.Answer, err error) {
	if r.Approved == nil && r.Answer == "" {
		return a, copilot.Errorf(copilot.Invalid, `the body needs "approved" (true or false) or "answer" (text)`)
	}
	a = copilot.Answer{Approved: r.Approved != nil && *r.Approved, Remember: r.Remember, Reason: r.Reason, Text: r.Answer}
	if r.Fields != nil {
		a.Fields, err = form.Values(r.Fields)
	}
	return a, err
}

// answer is POST /operations/{id}/answer/{request}.
func (a *API) answer(c *gin.Context) {
	a.with(c, func(o *operation.Operation) error {
		var r reaction
		if err := read(c, maxAnswer, &r); err != nil {
			return err
		}
		reply, err := r.domain()
		if err == nil {
			err = o.Answer(c.Request.Context(), cmp.Or(c.Param("request"), "-"), reply)
		}
		if err == nil {
			answer(c, http.StatusOK, gin.H{"operation_id": o.Info().ID, "request_id": c.Param("request")})
		}
		return err
	})
}
