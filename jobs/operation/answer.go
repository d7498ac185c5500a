package operation

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// By identifies answers given through operations in the records of sessions.
const By = "operations"

// Answer answers a question of the agent that a message of the operation reports, identified by
// [Message.Request]. Errors: [fault.ErrQuestionNotFound] and those of [copilot.Session.Answer].
func (o *Operation) Answer(ctx context.Context, request string, a event.Answer) error {
	messages, err := o.record.Present(ctx, 0)
	if err != nil {
		return err
	}
	asked := func(m Message) bool { return m.Request == request }
	if request == "" || !slices.ContainsFunc(messages, asked) { // tool calls of the agent are not questions to users
		return fault.ErrQuestionNotFound
	}
	s, err := o.host.options.Sessions.Session(ctx, o.Info().Session)
	if err != nil {
		return err
	}
	return s.Answer(request, a, By)
}
