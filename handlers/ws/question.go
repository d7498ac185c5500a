package ws

import (
	"cmp"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/form"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs/operation"
)

// maxAnswer is the largest body of an answer, in bytes.
const maxAnswer = 1 << 20

// answerRequest is the answer to a question: {approved, remember?, scope?, reason?}, with fields for a form, or {answer}.
type answerRequest struct {
	Approved *bool                `json:"approved"`
	Remember bool                 `json:"remember"`
	Scope    permission.ScopeKind `json:"scope"`
	Reason   string               `json:"reason"`
	Answer   string               `json:"answer"`
	Fields   map[string]any       `json:"fields"`
}

func (r answerRequest) domain() (a event.Answer, err error) {
	if r.Approved == nil && r.Answer == "" {
		return a, fault.Errorf(fault.Invalid, `the body needs "approved" (true or false) or "answer" (text)`)
	}
	a = event.Answer{Approved: r.Approved != nil && *r.Approved, Remember: r.Remember, Scope: r.Scope, Reason: r.Reason, Text: r.Answer}
	if r.Fields != nil {
		a.Fields, err = form.Values(r.Fields)
	}
	return a, err
}

// answer is POST /operations/{id}/answer/{request}. It needs the session id that started the operation, or the token.
func (a *API) answer(c *gin.Context) {
	a.withOperation(c, func(o *operation.Operation) error {
		if err := mayAnswer(visitorOf(c), o); err != nil {
			return err
		}
		id := wire.Param(c, "request")
		var r answerRequest
		if err := read(c, maxAnswer, &r); err != nil {
			return err
		}
		reply, err := r.domain()
		if err == nil {
			err = o.Answer(c.Request.Context(), cmp.Or(id, "-"), reply)
		}
		if err == nil {
			answer(c, http.StatusOK, gin.H{"operation_id": o.Info().ID, "request_id": id})
		}
		return err
	})
}

// mayAnswer rejects a session id that did not start the operation. Error: kind [fault.Denied].
func mayAnswer(who visitor, o *operation.Operation) error {
	if who.key == o.Info().Client || who.hasToken() {
		return nil
	}
	return fault.Errorf(fault.Denied, "this session id did not start the operation: answer with the one that did, or with the portal's token")
}
