package operation

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// By names whoever answers through an operation, in the record of its session.
const By = "operations"

// Answer answers a question of the agent that a message of the operation has told, by its [Message.Request]. Errors:
// [fault.ErrQuestionNotFound], those of [copilot.Session.Answer].
func (o *Operation) Answer(ctx context.Context, request string, a event.Answer) error {
	messages, err := o.record.Present(ctx, 0)
	if err != nil {
		return err
	}
	asked := func(m Message) bool { return m.Request == request }
	if request == "" || !slices.ContainsFunc(messages, asked) { // the agent's calls of tools are no questions to people
		return fault.ErrQuestionNotFound
	}
	s, err := o.host.options.Sessions.Session(ctx, o.Info().Session)
	if err != nil {
		return err
	}
	return s.Answer(request, a, By)
}
