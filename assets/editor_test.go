package assets_test

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/server/portaltest"
)

// editor is a program that speaks the Agent Client Protocol with `portal acp --attach`. It never answers a question.
type editor struct {
	page

	peer      *jsonrpc.Peer
	withdrawn chan struct{} // closed when its question is withdrawn

	mu    sync.Mutex
	texts map[string]string // by kind of update
}

func (t page) editor() *editor {
	t.Helper()
	e := &editor{page: t, withdrawn: make(chan struct{}), texts: map[string]string{}}
	command := exec.Command(portaltest.Binary(t), "acp", "--attach", t.portal.URL)
	command.Env = portaltest.Environ(t.TempDir())
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	e.peer = jsonrpc.New(jsonrpc.NewLines(out, in, jsonrpc.LineOptions{}), jsonrpc.Methods{
		"session/update": {InOrder: true, Handle: e.update},
		"session/request_permission": {Handle: func(ctx context.Context, _ *jsonrpc.Request) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		"$/cancel_request": {InOrder: true, Handle: func(context.Context, *jsonrpc.Request) (any, error) {
			close(e.withdrawn)
			return nil, nil
		}},
	}, jsonrpc.Options{})
	ended := make(chan error, 1)
	go func() { ended <- e.peer.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		e.peer.Close()
		<-ended
		assert.NoError(t, command.Wait())
	})
	return e
}

func (e *editor) update(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Update struct {
			Kind    string `json:"sessionUpdate"`
			Content any    `json:"content"`
		}
	}
	err := r.Decode(&p)
	e.mu.Lock()
	defer e.mu.Unlock()
	if content, ok := p.Update.Content.(map[string]any); ok {
		text, _ := content["text"].(string)
		e.texts[p.Update.Kind] += text
	}
	return nil, err
}

func (e *editor) waitText(kind, part string) {
	e.Helper()
	require.Eventually(e, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return strings.Contains(e.texts[kind], part)
	}, 2*time.Minute, 20*time.Millisecond, part)
}

func (e *editor) call(method string, params, result any) {
	e.Helper()
	require.NoError(e, e.peer.Call(e.Context(), method, params, result), method)
}

func continuesAnEditorsSession(t page) {
	type object = map[string]any
	e := t.editor()
	e.call("initialize", object{"protocolVersion": 1}, nil)
	var opened struct{ SessionID string }
	e.call("session/new", object{"cwd": t.TempDir(), "mcpServers": []any{}}, &opened)
	e.call("session/set_config_option", object{"sessionId": opened.SessionID, "configId": "model", "value": "demo"}, nil)
	ended := make(chan error, 1)
	go func() {
		ended <- e.peer.Call(t.Context(), "session/prompt", object{
			"sessionId": opened.SessionID, "prompt": []any{object{"type": "text", "text": "run `touch made` and say `for the editor`"}},
		}, nil)
	}()
	b := t.visit(opened.SessionID)
	b.WaitText(id("prompt-block"), "for the editor")
	b.Click(id("allow"))
	select {
	case <-e.withdrawn:
	case <-time.After(2 * time.Minute):
		require.Fail(t, "the editor still asks")
	}
	require.NoError(t, <-ended)
	b.WaitText(id("answer"), "for the editor")
	e.waitText("agent_message_chunk", "for the editor")

	idle(b, 1)
	send(b, "say `for the browser`")
	e.waitText("user_message_chunk", "say `for the browser`")
	e.waitText("agent_message_chunk", "for the browser")
	e.call("session/prompt", object{"sessionId": opened.SessionID, "prompt": []any{object{"type": "text", "text": "say `back in the editor`"}}}, nil)
	b.WaitText(id("answer"), "back in the editor")
}
