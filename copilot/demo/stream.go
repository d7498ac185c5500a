package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A stream writes an answer as server-sent events. It sends no header before the first event, so that a script
// can still fail with a status.
type stream struct {
	w       http.ResponseWriter
	head    completion
	started bool
}

// respond answers a request as a stream of chunks or as one document.
func respond(ctx context.Context, w http.ResponseWriter, req *request) error {
	head := completion{ID: "chatcmpl-" + rand.Text(), Created: time.Now().Unix(), Model: ModelID}
	if !req.Stream {
		return respondWhole(ctx, w, req, head)
	}
	head.Object = "chat.completion.chunk"
	s := &stream{w: w, head: head}
	a := newAnswer(ctx, func(d delta) error { return s.choice(choice{Delta: &d}) })
	if err := perform(ctx, readTurn(req), a); err != nil {
		return s.broken(err)
	}
	finish := a.finish()
	if err := s.choice(choice{Delta: &delta{}, FinishReason: &finish}); err != nil {
		return err
	}
	if req.StreamOptions.IncludeUsage {
		s.head.Choices, s.head.Usage = []choice{}, measure(req, a)
		if err := s.event(s.head); err != nil {
			return err
		}
	}
	return s.write("[DONE]")
}

// broken tells of a failure after the stream began, as an event, for its status is sent already.
func (s *stream) broken(err error) error {
	if f, ok := errors.AsType[*failure](err); ok && s.started {
		return s.event(f.document())
	}
	return err
}

func (s *stream) choice(c choice) error {
	s.head.Choices = []choice{c}
	return s.event(s.head)
}

func (s *stream) event(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return s.write(string(b))
}

func (s *stream) write(data string) error {
	if !s.started {
		s.started = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
	}
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", data); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// respondWhole answers a client that does not want a stream.
func respondWhole(ctx context.Context, w http.ResponseWriter, req *request, head completion) error {
	var whole collected
	a := newAnswer(ctx, whole.add)
	if err := perform(ctx, readTurn(req), a); err != nil {
		return err
	}
	finish := a.finish()
	head.Object = "chat.completion"
	head.Choices = []choice{{Message: whole.message(), FinishReason: &finish}}
	head.Usage = measure(req, a)
	return writeJSON(w, http.StatusOK, head)
}

// A collected answer joins its pieces.
type collected struct {
	reasoning, content, arguments strings.Builder
	calls                         []toolCall
}

func (c *collected) add(d delta) error {
	c.reasoning.WriteString(d.Reasoning)
	c.content.WriteString(d.Content)
	for _, call := range d.ToolCalls {
		if call.ID != "" {
			c.calls = append(c.calls, call)
		}
		c.arguments.WriteString(call.Function.Arguments)
	}
	return nil
}

// message is the whole answer. There is never more than one call in it.
func (c *collected) message() *delta {
	if len(c.calls) > 0 {
		c.calls[0].Function.Arguments = c.arguments.String()
	}
	return &delta{
		Role: "assistant", Reasoning: c.reasoning.String(), Content: c.content.String(), ToolCalls: c.calls,
	}
}

// measure guesses the tokens of the request; those of the answer are its pieces.
func measure(req *request, a *answer) *usage {
	const bytesPerToken = 4
	u := usage{Prompt: req.size / bytesPerToken, Completion: a.pieces}
	u.Total = u.Prompt + u.Completion
	return &u
}
