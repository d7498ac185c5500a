package demo

import (
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

// maxBody bounds a request. The CLI sends the whole conversation each time, with its images.
const maxBody = 64 << 20

// NewHandler returns the model's HTTP interface. Requests must carry the key as a bearer token; with an empty key
// every request is refused.
func NewHandler(key string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", listModels)
	mux.HandleFunc("POST /v1/chat/completions", chat)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", fmt.Sprintf("There is no %s %s here.", r.Method, r.URL.Path))
	})
	return guard(key, mux)
}

func guard(key string, next http.Handler) http.Handler {
	want := []byte("Bearer " + key)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			refuse(w, http.StatusUnauthorized, "invalid_api_key", "The key is missing or wrong.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func listModels(w http.ResponseWriter, _ *http.Request) {
	model := map[string]any{"id": ModelID, "object": "model", "created": 0, "owned_by": ModelName}
	_ = writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{model}})
}

// chat answers one request. An answer that cannot be finished is cut, for its status may be sent already.
func chat(w http.ResponseWriter, r *http.Request) {
	req, err := decode(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, statusOf(err), "invalid_request", err.Error())
		return
	}
	err = respond(r.Context(), w, req)
	if f, ok := errors.AsType[*failure](err); ok {
		f.write(w)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

func statusOf(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// refuse answers with an error in OpenAI's form.
func refuse(w http.ResponseWriter, status int, code, message string) {
	(&failure{status: status, Message: message, Type: kindOf(status), Code: code}).write(w)
}

// write sends the failure. Like real providers it says when to come again; without that the CLI tries for a minute.
func (f *failure) write(w http.ResponseWriter) {
	if f.status == http.StatusTooManyRequests || f.status >= http.StatusInternalServerError {
		w.Header().Set("Retry-After", "1")
	}
	_ = writeJSON(w, f.status, f.document())
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}
