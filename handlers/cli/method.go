package cli

import (
	"context"
	"encoding/json"
	"strings"
	"weak"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs/studio"
)

// finishRequest completes a request that has taken its turn.
type finishRequest = func(context.Context) (any, error)

type generateParams struct {
	Spec    json.RawMessage `json:"spec"`
	Format  string          `json:"format"`
	Theme   string          `json:"theme"`
	Options struct {
		Layout      string `json:"layout"`
		IncludeAuth *bool  `json:"includeAuth"`
		Pagination  *bool  `json:"pagination"`
	} `json:"options"`
}

type generated struct {
	Code           string `json:"code"`
	ComponentCount int    `json:"componentCount"`
	Description    string `json:"description"`
}

func (c *connection) generate(_ context.Context, r *jsonrpc.Request) (finishRequest, error) {
	var p generateParams
	if err := decode(r, &p); err != nil {
		return nil, err
	}
	if len(p.Spec) == 0 || string(p.Spec) == "null" {
		return nil, invalidParams(`"spec" is missing`)
	}
	turn, err := c.turn(r)
	if turn == nil {
		return nil, err
	}
	return c.finish(r, func(ctx context.Context, send func(piece string)) (any, error) {
		g, err := turn.Generate(ctx, studio.GenerateRequest{
			Spec: p.Spec, Format: p.Format, Theme: p.Theme, Layout: p.Options.Layout,
			NoAuth: isFalse(p.Options.IncludeAuth), NoPagination: isFalse(p.Options.Pagination),
		}, send)
		return generated{g.Code, g.Components, g.Description}, err
	}), nil
}

func isFalse(option *bool) bool { return option != nil && !*option }

type customizeParams struct {
	CurrentCode string           `json:"currentCode"`
	Prompt      string           `json:"prompt"`
	Spec        json.RawMessage  `json:"spec"`
	History     []studio.Message `json:"history"`
}

type customized struct {
	Code                string   `json:"code"`
	Description         string   `json:"description"`
	Assumptions         []string `json:"assumptions"`
	ClarificationNeeded bool     `json:"clarificationNeeded"`
}

type clarification struct {
	Code                *string  `json:"code"` // null
	ClarificationNeeded bool     `json:"clarificationNeeded"`
	Question            string   `json:"question"`
	Options             []string `json:"options"`
}

func (c *connection) customize(_ context.Context, r *jsonrpc.Request) (finishRequest, error) {
	var p customizeParams
	if err := decode(r, &p); err != nil {
		return nil, err
	}
	turn, err := c.turn(r)
	if turn == nil {
		return nil, err
	}
	return c.finish(r, func(ctx context.Context, send func(piece string)) (any, error) {
		done, err := turn.Customize(ctx, studio.CustomizeRequest{Code: p.CurrentCode, Prompt: p.Prompt, Spec: p.Spec, History: p.History}, send)
		if done.Question != "" {
			return clarification{nil, true, done.Question, list(done.Options)}, err
		}
		return customized{done.Code, done.Description, list(done.Assumptions), false}, err
	}), nil
}

type chatParams struct {
	Message string `json:"message"`
	Context struct {
		TabID              string `json:"tabId"`
		HasActiveSpec      bool   `json:"hasActiveSpec"`
		HasActiveInterface bool   `json:"hasActiveInterface"`
	} `json:"context"`
}

type chatted struct {
	Message     string   `json:"message"`
	Suggestions []string `json:"suggestions"`
}

func (c *connection) chat(ctx context.Context, r *jsonrpc.Request) (finishRequest, error) {
	var p chatParams
	if err := decode(r, &p); err != nil {
		return nil, err
	}
	switch method, inner := unwrap(r, p.Message); method {
	case "generate":
		return c.generate(ctx, inner)
	case "customize":
		return c.customize(ctx, inner)
	}
	if r.IsNotification() {
		return ignore, nil
	}
	turn, err := c.api.options.Studio.TurnIn(tab{weak.Make(r.Peer), p.Context.TabID})
	if err != nil {
		return nil, faultError(err)
	}
	return c.finish(r, func(ctx context.Context, send func(piece string)) (any, error) {
		reply, err := turn.Chat(ctx, studio.ChatRequest{
			Message: p.Message, HasSpec: p.Context.HasActiveSpec, HasInterface: p.Context.HasActiveInterface,
		}, send)
		return chatted{reply.Message, list(reply.Suggestions)}, err
	}), nil
}

// tab names a conversation of a connection; others may use equal ids. Calls over HTTP have no connection.
type tab struct {
	peer weak.Pointer[jsonrpc.Peer] // keeps no memory of a connection that has ended, and never equals that of a later one
	id   string
}

// unwrap returns the request that some apps send as the text of a message. Its answer becomes that of the message.
func unwrap(r *jsonrpc.Request, message string) (method string, inner *jsonrpc.Request) {
	message = strings.TrimSpace(message)
	if !strings.HasPrefix(message, "{") {
		return "", nil
	}
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal([]byte(message), &m) != nil {
		return "", nil
	}
	return m.Method, &jsonrpc.Request{ID: r.ID, Method: m.Method, Params: m.Params, Peer: r.Peer}
}

// turn takes a turn in the queue of the studio. A notification is an error, because nothing would answer it.
func (c *connection) turn(r *jsonrpc.Request) (*studio.Turn, error) {
	if r.IsNotification() {
		return nil, jsonrpc.InvalidRequest("this needs an id")
	}
	t, err := c.api.options.Studio.Turn()
	return t, faultError(err)
}

// finish completes a request with a run, which sends the pieces of its answer as they arrive. The run also ends on exit.
func (c *connection) finish(r *jsonrpc.Request, run func(ctx context.Context, send func(piece string)) (any, error)) finishRequest {
	return func(ctx context.Context) (any, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.running, cancel)()
		out := &chunkStream{ctx: ctx, r: r, off: c.noChunks.Load() || r.Peer == nil}
		answer, err := run(ctx, out.send)
		out.end(err == nil)
		return answer, faultError(err)
	}
}

func ignore(context.Context) (any, error) { return struct{}{}, nil }

// list returns items, never nil.
func list(items []string) []string { return append([]string{}, items...) }

// chunkStream sends the pieces of an answer as they arrive. Only one goroutine may use it.
type chunkStream struct {
	ctx   context.Context //nolint:containedctx // the request's context; both have the same lifetime
	r     *jsonrpc.Request
	off   bool // the app or the carrier does not support streaming
	index int
}

type chunk struct {
	RequestID json.RawMessage `json:"requestId"`
	Chunk     string          `json:"chunk"`
	Done      bool            `json:"done"`
	Index     int             `json:"index"`
}

func (s *chunkStream) send(piece string) { s.write(s.ctx, piece, false) }

// end sends the final chunk, unless the request failed before any other.
func (s *chunkStream) end(good bool) {
	if good || s.index > 0 {
		s.write(context.WithoutCancel(s.ctx), "", true)
	}
}

// write waits while too much is unsent. Errors are ignored: when the app is gone, the request ends anyway.
func (s *chunkStream) write(ctx context.Context, piece string, done bool) {
	if s.off {
		return
	}
	_ = s.r.Peer.Notify(ctx, "stream/chunk", chunk{s.r.ID, piece, done, s.index})
	s.index++
}
