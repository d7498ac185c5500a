// Package demo is a scripted model for the real GitHub Copilot CLI. It follows the keywords of a prompt, in order, and
// answers everything else with canned texts. It serves first steps without an account, and the end-to-end tests. README.md
// describes it for users.
//
// It speaks the OpenAI chat-completions protocol on loopback HTTP (GET /v1/models, POST /v1/chat/completions), so the CLI uses
// it as a custom provider. The CLI itself, its tools, its permissions and its events are real.
//
// # The script language
//
// A keyword is a whole word in any case. An argument is enclosed in backticks and never a keyword. All other words are prose.
//
//	think [about TOPIC]               stream reasoning
//	markdown                          stream a heading, a list, a table, a code block and a link
//	say `TEXT`                        stream exactly TEXT, one word per chunk
//	5,000 tokens [in 20 s]            stream exactly 5,000 chunks: w1 w2 w3 …
//	wait 5 s                          keep the answer open for 5 s
//	run `COMMAND`                     call bash
//	write `FILE` `CONTENT`            call create
//	edit `FILE` `OLD` `NEW`           call edit
//	read `FILE`                       call view
//	ask `QUESTION` [choices `A` `B`]  call ask_user
//	call `TOOL` [`{"json": 1}`]       call any tool that is offered
//	plan `A` `B`                      write to-dos with sql, then work on one after another
//	recall                            list the earlier prompts of the conversation
//	show request                      answer with the model's input, as JSON
//	fail [STATUS]                     answer with an HTTP error, 400 by default
//	break                             cut the connection in the middle of a message
//
// # Answers
//
// The server keeps no state. The last prompt of a request is the script, and the tool calls after it show how far the script
// is. An answer ends at the next tool call. The last answer quotes the results of the tools, unless it has a text of its own.
package demo

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// The one model of the server.
const (
	// ModelID is the id to ask for.
	ModelID = "demo"
	// ModelName is the name to show. It says that the model is not a real one.
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

// chat answers one request. It aborts an answer that it cannot finish, because the status may be sent already.
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
	a := &answer{w: w, request: req, head: completion{
		ID: "chatcmpl-" + rand.Text(), Object: "chat.completion.chunk", Created: time.Now().Unix(), Model: ModelID,
	}}
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

// perform runs the steps of this answer.
func perform(ctx context.Context, t *turn, a *answer) error {
	if t.ended != "" {
		return a.text(t.ended)
	}
	if text, ok := t.aside(); ok {
		return a.text(text) // nothing if the prompt names none
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

// Error returns the message.
func (f *failure) Error() string { return f.Message }

// write sends the failure, with Retry-After as real providers do: without it the CLI retries for a minute.
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

// Server serves the scripted model on loopback. Its methods may be called concurrently.
type Server struct {
	url, key string
	http     *http.Server
	cancel   context.CancelFunc
	served   chan error // closed when the serving goroutine has ended
}

// Start listens on a free port of 127.0.0.1 and serves until Close.
func Start() (*Server, error) {
	ctx, cancel := context.WithCancel(context.Background()) // of the requests; cancelled by Close
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		return nil, err
	}
	key := rand.Text()
	s := &Server{
		url: "http://" + listener.Addr().String() + "/v1", key: key, cancel: cancel, served: make(chan error, 1),
		http: &http.Server{
			Handler: NewHandler(key), ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
			BaseContext: func(net.Listener) context.Context { return ctx },
		},
	}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.served <- err
		}
	}()
	return s, nil
}

// URL returns the base URL for the CLI. It ends in /v1.
func (s *Server) URL() string { return s.url }

// Key returns the bearer token for requests. Each server has its own.
func (s *Server) Key() string { return s.key }

// Close aborts open answers and waits for the serving goroutine. It reports why serving ended early, if it did, and may
// be called again.
func (s *Server) Close() error {
	s.cancel()
	return errors.Join(s.http.Close(), <-s.served)
}
