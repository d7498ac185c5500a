package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// HTTP answers requests in the bodies of HTTP requests. It sends no calls and no notifications.
type HTTP struct{ caller }

// NewHTTP returns a handler. It handles the requests of a batch concurrently, except those in order.
func NewHTTP(methods Finder, options Options) *HTTP {
	return &HTTP{caller{methods: methods, options: options.withDefaults()}}
}

// ServeHTTP answers POST requests with status 200, invalid ones included, or 204 if there is no response.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		h.write(w, http.StatusMethodNotAllowed, encodeError(nil, InvalidRequest("requests come with POST, not with %s", r.Method)))
		return
	}
	response, after := h.read(w, r)
	if response == nil {
		w.WriteHeader(http.StatusNoContent)
	} else {
		h.write(w, http.StatusOK, response)
	}
	if len(after) > 0 {
		_ = http.NewResponseController(w).Flush() // a writer that cannot flush writes at the end
		h.doAll(after)
	}
}

// read reads the body and answers it.
func (h *HTTP) read(w http.ResponseWriter, r *http.Request) ([]byte, []func()) {
	body, err := io.ReadAll(LimitBody(w, r, h.options.Body))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("%w: a body may have %d bytes", ErrTooLong, h.options.Body)
	}
	if err != nil {
		return h.encodeError(nil, parseError(err)), nil
	}
	return h.answer(r.Context(), body)
}

func (h *HTTP) write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // so that clients see its end before anything that follows
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // the content type is JSON
}

func (h *HTTP) answer(ctx context.Context, body []byte) (response []byte, after []func()) {
	messages, batch := decode(body, h.options.Batch)
	c := h.caller
	c.workers = &workers{most: h.options.Concurrent, mostWaiting: len(messages)}
	done := make(chan struct{})
	r := newResponseCollector(len(messages), batch, func(all []byte, then []func()) {
		response, after = all, then
		close(done)
	})
	for i, m := range messages {
		c.answerOne(ctx, m, func(response []byte, after []func()) { r.put(i, response, after) })
	}
	<-done
	return response, after
}

func (c *caller) answerOne(ctx context.Context, m message, respond func([]byte, []func())) {
	switch {
	case m.answer != nil:
		respond(nil, nil) // there are no outgoing calls
	case m.refusal != nil:
		respond(c.encodeError(m.refusal.id, m.refusal.err), nil)
	default:
		c.handle(ctx, m.request, respond)
	}
}

func (h *HTTP) doAll(after []func()) {
	for _, f := range after {
		h.do(f)
	}
}
