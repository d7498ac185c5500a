package operation

import (
	"context"
	"errors"
	"io"

	"github.com/copilot-portal/portal/copilot"
)

// By names whoever answers through an operation, in the record of its session.
const By = "operations"

// Answer answers a question of the agent that a message of the operation has told, by its [Message.Request]. Errors:
// [copilot.ErrQuestionNotFound], those of [copilot.Session.Answer].
func (o *Operation) Answer(ctx context.Context, request string, a copilot.Answer) error {
	told, err := o.told(ctx, request)
	if err != nil {
		return err
	}
	if !told { // the agent's calls of tools are no questions to people
		return copilot.ErrQuestionNotFound
	}
	s, err := o.host.options.Sessions.Session(ctx, o.Info().Session)
	if err != nil {
		return err
	}
	return s.Answer(request, a, By)
}

// told says whether a message has told a question.
func (o *Operation) told(ctx context.Context, request string) (bool, error) {
	now, cancel := context.WithCancel(ctx)
	cancel()
	for after := -1; ; {
		list, err := o.Next(now, after, MaxMessages)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, context.Canceled):
			return false, nil
		case err != nil:
			return false, err
		}
		for _, m := range list {
			if after = m.Sequence; request != "" && m.Request == request {
				return true, nil
			}
		}
	}
}
