package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A step is one thing that a script does.
type step interface {
	// run streams the step into the answer. It ends early when the client is gone.
	run(ctx context.Context, t *turn, a *answer) error
}

type (
	think       struct{ topic string }
	markdown    struct{}
	say         struct{ text string }
	wait        struct{ length time.Duration }
	recall      struct{}
	showRequest struct{}
	fail        struct{ status int }
	breakOff    struct{}
	intro       struct{}
	hint        struct{ word, usage string }
	burst       struct {
		count int
		over  time.Duration
	}
)

// errCut asks for the connection to be cut.
var errCut = errors.New("the script breaks the answer off")

// perform runs what is due of a turn's script.
func perform(ctx context.Context, t *turn, a *answer) error {
	switch {
	case t.ended != "":
		return a.text(t.ended)
	case wantsSummary(t):
		return a.text(summarize(t.earlier))
	}
	script := t.script()
	for _, s := range t.due(script) {
		if err := s.run(ctx, t, a); err != nil {
			return err
		}
	}
	if a.called || a.spoke {
		return nil
	}
	return a.text(report(script, t))
}

func (s think) run(_ context.Context, _ *turn, a *answer) error {
	for _, thought := range thoughts(s.topic) {
		if err := a.reason(thought); err != nil {
			return err
		}
	}
	return nil
}

func (markdown) run(_ context.Context, _ *turn, a *answer) error { return a.text(sample) }

func (s say) run(_ context.Context, _ *turn, a *answer) error { return a.text(s.text) }

func (s burst) run(ctx context.Context, _ *turn, a *answer) error {
	start := time.Now()
	for i := 1; i <= s.count; i++ {
		due := time.Duration(float64(s.over) * float64(i) / float64(s.count))
		if err := pause(ctx, time.Until(start.Add(due))); err != nil {
			return err
		}
		word := fmt.Sprintf("w%d ", i)
		if i == s.count {
			word = word[:len(word)-1]
		}
		if err := a.say(word); err != nil {
			return err
		}
	}
	return nil
}

func (s wait) run(ctx context.Context, _ *turn, a *answer) error {
	if err := a.reason("waiting "); err != nil {
		return err
	}
	return pause(ctx, s.length)
}

// pause waits, but not longer than the client does.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (recall) run(_ context.Context, t *turn, a *answer) error { return a.text(remember(t.earlier)) }

func (showRequest) run(_ context.Context, t *turn, a *answer) error {
	var shown strings.Builder
	e := json.NewEncoder(&shown)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(map[string]any{"prompt": t.raw, "messages": t.messages, "tools": t.tools, "directory": t.dir})
	if err != nil {
		return err
	}
	return a.text(shown.String())
}

func (s fail) run(context.Context, *turn, *answer) error {
	return &failure{
		status: s.status, Message: fmt.Sprintf("The script failed with status %d, as it was told to.", s.status),
		Type: kindOf(s.status), Code: "demo_failure",
	}
}

// kindOf is OpenAI's name for a kind of error.
func kindOf(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= http.StatusInternalServerError:
		return "server_error"
	default:
		return "invalid_request_error"
	}
}

func (breakOff) run(_ context.Context, _ *turn, a *answer) error {
	if err := a.text("This sentence will never be"); err != nil {
		return err
	}
	return errCut
}

func (intro) run(_ context.Context, t *turn, a *answer) error { return a.text(introduce(t.prompt)) }

func (s hint) run(_ context.Context, _ *turn, a *answer) error { return a.text(explain(s)) }

func (c call) run(_ context.Context, t *turn, a *answer) error {
	name, ok := t.offers(c.tools)
	if !ok {
		return a.text(missing(c.tools[0], t.tools))
	}
	args, err := json.Marshal(c.args)
	if err != nil {
		return err
	}
	return a.call(name, string(args))
}
