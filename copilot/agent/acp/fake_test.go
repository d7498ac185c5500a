package acp_test

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type document = map[string]any

// scripted is an agent of the protocol inside the test.
type scripted struct {
	*testing.T

	name    string
	methods jsonrpc.Methods // that replace the usual ones
	peer    *jsonrpc.Peer
	driver  *acp.Driver

	mu     sync.Mutex
	called []string // methods
}

// script returns an agent with methods.
func script(t *testing.T, name string, methods jsonrpc.Methods) *scripted {
	t.Helper()
	return scriptOf(t, acp.Options{Name: name}, methods)
}

// scriptOf is script with options of the driver.
func scriptOf(t *testing.T, o acp.Options, methods jsonrpc.Methods) *scripted {
	t.Helper()
	s := &scripted{T: t, name: o.Name, methods: methods}
	o.Command, o.Saved = []string{"none"}, t.TempDir()
	s.driver = acp.NewOf(o, s.start)
	return s
}

func (s *scripted) start() (io.WriteCloser, io.ReadCloser, <-chan struct{}, func()) {
	in, ourIn := io.Pipe()
	ourOut, out := io.Pipe()
	methods := jsonrpc.Methods{
		"initialize":     answer(`{"protocolVersion":1,"agentInfo":{"name":"x","version":"3"},"agentCapabilities":{"loadSession":true}}`),
		"session/new":    answer(`{"sessionId":"s1"}`),
		"session/load":   answer(`{}`),
		"session/prompt": answer(`{"stopReason":"end_turn"}`),
		"session/cancel": answer(`{}`),
	}
	for name, m := range s.methods {
		methods[name] = m
	}
	for name, m := range methods {
		handle := m.Handle
		methods[name] = jsonrpc.Method{Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) {
			s.mu.Lock()
			s.called = append(s.called, name)
			s.mu.Unlock()
			return handle(ctx, r)
		}}
	}
	gone := make(chan struct{})
	s.peer = jsonrpc.New(jsonrpc.NewLines(in, out, jsonrpc.LineOptions{}), methods, jsonrpc.Options{})
	go func() {
		defer close(gone)
		_ = s.peer.Run(context.Background()) // ends with its input
	}()
	return ourIn, ourOut, gone, s.peer.Close
}

// calls returns the methods called so far.
func (s *scripted) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.called...)
}

// answer returns a method with a constant result.
func answer(result string) jsonrpc.Method {
	return jsonrpc.Method{Handle: func(context.Context, *jsonrpc.Request) (any, error) { return json.RawMessage(result), nil }}
}

// prompted returns a method for prompts that works with the client first.
func prompted(work func(ctx context.Context, p *jsonrpc.Peer) string) jsonrpc.Methods {
	return jsonrpc.Methods{"session/prompt": {Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) {
		return document{"stopReason": work(ctx, r.Peer)}, nil
	}}}
}

// send sends an update.
func send(ctx context.Context, p *jsonrpc.Peer, update string) {
	_ = p.Notify(ctx, "session/update", document{"sessionId": "s1", "update": json.RawMessage(update)}) // fails with the connection
}

// launch starts the agent.
func (s *scripted) launch() agent.Agent {
	s.Helper()
	a, err := s.driver.Launch(s.Context())
	require.NoError(s, err)
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		a.Stop(ctx)
	})
	return a
}

// open opens a conversation in a directory.
func (s *scripted) open(directory string) (agent.Conversation, <-chan event.Body) {
	s.Helper()
	bodies := make(chan event.Body, 1000)
	c, err := s.launch().Open(s.Context(), agent.Opening{Session: "p1", Model: s.name + "/default", Directory: directory}, func(_ string, b event.Body) { bodies <- b })
	require.NoError(s, err)
	return c, bodies
}

// run sends a prompt and returns its events.
func (s *scripted) run(answer func(agent.Conversation, event.Question)) []event.Body {
	s.Helper()
	c, bodies := s.open(s.TempDir())
	return s.prompt(c, bodies, answer)
}

func (s *scripted) prompt(c agent.Conversation, bodies <-chan event.Body, answer func(agent.Conversation, event.Question)) (list []event.Body) {
	s.Helper()
	require.NoError(s, c.Send(s.Context(), event.Prompt{Text: "go"}))
	late := time.After(time.Minute)
	for {
		select {
		case b := <-bodies:
			list = append(list, b)
			switch b := b.(type) {
			case event.Idle:
				return list
			case event.QuestionAsked:
				answer(c, b.Question)
			}
		case <-late:
			assert.Fail(s, "the prompt does not end", "%+v", list)
			return list
		}
	}
}

// find returns the first event of a type.
func find[B event.Body](t *testing.T, list []event.Body) (b B) {
	t.Helper()
	for _, one := range list {
		if b, ok := one.(B); ok {
			return b
		}
	}
	require.Fail(t, "there is no such event", "%T in %+v", b, list)
	return b
}
