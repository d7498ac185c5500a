package demo

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// The one model of the server.
const (
	// ModelID is the id to ask for.
	ModelID = "demo"
	// ModelName is the name to show, so that nobody takes the script for a real model.
	ModelName = "Demo (scripted, offline)"
)

// maxBody bounds a request, in bytes. The CLI sends the whole conversation each time, with its images.
const maxBody = 64 << 20

// NewHandler returns the model's HTTP interface. Requests must carry the key as a bearer token; with an empty key
// every request is refused.
func NewHandler(key string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		model := map[string]any{"id": ModelID, "object": "model", "created": 0, "owned_by": ModelName}
		_ = writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{model}})
	})
	mux.HandleFunc("POST /v1/chat/completions", chat)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		newFailure(http.StatusNotFound, "not_found", fmt.Sprintf("There is no %s %s here.", r.Method, r.URL.Path)).write(w)
	})
	want := []byte("Bearer " + key)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			newFailure(http.StatusUnauthorized, "invalid_api_key", "The key is missing or wrong.").write(w)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// chat answers one request. An answer that cannot be finished is cut, for its status may be sent already.
func chat(w http.ResponseWriter, r *http.Request) {
	req, err := decode(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status = http.StatusRequestEntityTooLarge
		}
		newFailure(status, "invalid_request", err.Error()).write(w)
		return
	}
	a := newAnswer(w, req)
	err = perform(r.Context(), readTurn(req), a)
	if err == nil {
		err = a.finish()
	}
	if f, ok := errors.AsType[*failure](err); ok {
		err = a.fail(f)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// perform runs the part of the turn's script that this answer is to do.
func perform(ctx context.Context, t *turn, a *answer) error {
	if t.ended != "" {
		return a.text(t.ended)
	}
	script := t.script()
	for _, s := range t.due(script) {
		if err := s.run(ctx, t, a); err != nil {
			return err
		}
	}
	if a.call.ID != "" || a.content.Len() > 0 {
		return nil
	}
	return a.text(summarizeResults(script, t))
}

// A failure is an error in OpenAI's form.
type failure struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

func newFailure(status int, code, message string) *failure {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return &failure{status: status, Message: message, Type: kind, Code: code}
}

// Error is the message.
func (f *failure) Error() string { return f.Message }

// write sends the failure. Like real providers it says when to come again; without that the CLI tries for a minute.
func (f *failure) write(w http.ResponseWriter) {
	if f.Type != "invalid_request_error" {
		w.Header().Set("Retry-After", "1")
	}
	_ = writeJSON(w, f.status, map[string]any{"error": f})
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}
