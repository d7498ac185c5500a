package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/rpc"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// frame is whatever comes on a WebSocket: a response or an event.
type frame struct {
	ID     int
	Result document
	Error  *struct{ Code int }
	Method string
	Params struct {
		SessionID, ID, Event string
		Data                 document
	}
}

// phone is a client on a WebSocket.
type phone struct {
	*testing.T

	conn *contract.Socket
	last int
}

// exchange is a portal that phones can call, with real sockets.
func exchange(t *testing.T, script func(*fake.Turn)) (call func() *phone) {
	t.Helper()
	agents := fake.New()
	agents.Script = script
	return exchangeWith(t, agents)
}

// exchangeWith is exchange with agents, which it closes.
func exchangeWith(t *testing.T, agents *fake.Agents) (call func() *phone) {
	t.Helper()
	host := agents.NewHost(copilot.Options{})
	sockets := socket.New(socket.Options{})
	api := rpc.New(rpc.Options{Host: host, WorkDir: t.TempDir(), Sockets: sockets})
	r := gin.New()
	api.Routes(r)
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		host.Close(ctx)
		assert.NoError(t, sockets.Close(ctx))
		api.Close()
		server.Close()
		agents.Close()
	})
	return func() *phone {
		conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"/rpc", nil)
		require.NoError(t, err)
		_ = resp.Body.Close()
		t.Cleanup(func() { _ = conn.Close() })
		return &phone{T: t, conn: contract.NewSocket(t, conn, "/rpc")}
	}
}

// say sends a request.
func (p *phone) say(method string, params document) {
	p.Helper()
	p.last++
	require.NoError(p, p.conn.WriteJSON(document{"jsonrpc": "2.0", "id": p.last, "method": method, "params": params}))
}

// hear waits for the next frame.
func (p *phone) hear() (f frame) {
	p.Helper()
	require.NoError(p, p.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, text, err := p.conn.ReadMessage()
	require.NoError(p, err)
	require.NoError(p, json.Unmarshal(text, &f))
	return f
}

// ask sends a request and waits for its response. What comes before it is lost.
func (p *phone) ask(method string, params document) frame {
	p.Helper()
	p.say(method, params)
	for {
		if f := p.hear(); f.ID == p.last {
			return f
		}
	}
}

// until gathers events up to the first of a name.
func (p *phone) until(name string) (events []frame) {
	p.Helper()
	for {
		f := p.hear()
		require.Equal(p, "session.event", f.Method)
		if events = append(events, f); f.Params.Event == name {
			return events
		}
	}
}

func said(events []frame) string {
	var out strings.Builder
	for _, e := range events {
		if content, ok := e.Params.Data["content"].(string); ok && e.Params.Data["type"] == "text" {
			out.WriteString(content)
		}
	}
	return out.String()
}

func TestSocketGetsEventsOfUsedSessions(t *testing.T) {
	p := exchange(t, fake.Echo)()
	id, _ := p.ask("session.create", document{}).Result["sessionId"].(string)
	require.NotEmpty(t, id)
	for _, prompt := range []string{"one", "two"} {
		p.say("session.send", document{"sessionId": id, "prompt": prompt})
		var events []frame
		run := ""
		for done := false; !done || run == ""; { // the response may follow the events
			f := p.hear()
			if f.ID == p.last {
				run, _ = f.Result["messageId"].(string)
				continue
			}
			events, done = append(events, f), done || f.Params.Event == "done"
		}
		assert.Equal(t, prompt, said(events))
		last := events[len(events)-1].Params
		assert.Equal(t, id, last.SessionID)
		assert.Equal(t, run, last.Data["messageId"])
		assert.NotEmpty(t, last.ID)
	}
}

func TestSubscriptionsContinueAtCursor(t *testing.T) {
	call := exchange(t, func(t *fake.Turn) {
		t.Emit(event.MessageStarted{ID: "m"})
		text := ""
		for i := range 200 {
			piece := fmt.Sprint(i, " ")
			text += piece
			t.Emit(event.MessageDelta{ID: "m", Text: piece})
		}
		t.Emit(event.MessageEnded{ID: "m", Text: text})
	})
	first := call()
	id, _ := first.ask("session.create", document{}).Result["sessionId"].(string)
	first.ask("session.unsubscribe", document{"sessionId": id})
	first.ask("session.send", document{"sessionId": id, "prompt": "x"})
	whole := first.until("done")

	last := ""
	var got []frame
	for len(got) == 0 || got[len(got)-1].Params.Event != "done" {
		p := call()
		f := p.ask("session.subscribe", document{"sessionId": id, "lastEventId": firstOf(last, whole[0].Params.ID)})
		require.Nil(t, f.Error)
		for range 17 {
			f := p.hear()
			got = append(got, f)
			last = f.Params.ID
			if f.Params.Event == "done" {
				break
			}
		}
		require.NoError(t, p.conn.Close())
	}
	assert.Equal(t, said(whole), said(got))
	assert.Len(t, got, len(whole)-1)
}

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func TestSocketReportsInvalidRequests(t *testing.T) {
	p := exchange(t, nil)()
	assert.Equal(t, -32000, p.ask("session.subscribe", document{"sessionId": "x"}).Error.Code)
	assert.Equal(t, -32602, p.ask("session.subscribe", document{"sessionId": 1}).Error.Code)
	id := p.ask("session.create", document{}).Result["sessionId"]
	for _, interval := range []any{-1, 1001, "fast", true} {
		assert.Equal(t, -32602, p.ask("session.subscribe", document{"sessionId": id, "interval": interval}).Error.Code)
	}
	assert.Nil(t, p.ask("session.subscribe", document{"sessionId": id, "interval": 16}).Error)
	assert.Equal(t, -32601, p.ask("nothing", document{}).Error.Code)
	assert.Equal(t, document{"unsubscribed": false}, p.ask("session.unsubscribe", document{"sessionId": "x"}).Result)
}

func TestRefusedSubscribeKeepsTheSubscription(t *testing.T) {
	call := exchange(t, fake.Echo)
	p := call()
	id := p.ask("session.create", document{}).Result["sessionId"]
	for _, refused := range []document{{"interval": -1}, {"interval": "fast"}, {"lastEventId": "yesterday"}} {
		refused["sessionId"] = id
		assert.Equal(t, -32602, p.ask("session.subscribe", refused).Error.Code)
	}
	call().ask("session.send", document{"sessionId": id, "prompt": "x"})
	p.until("done")
}

func TestRefusedPromptKeepsTheEventsOfOtherRequests(t *testing.T) {
	for method, params := range map[string]document{"session.send": {"prompt": "y"}, "session.subscribe": {}} {
		t.Run(method, func(t *testing.T) {
			agents := fake.New()
			asked, proceed := make(chan struct{}), make(chan struct{})
			var waits atomic.Bool
			agents.Before = func(_ context.Context, c fake.Call) error {
				if c.Method == fake.Models && waits.CompareAndSwap(true, false) {
					close(asked)
					<-proceed
				}
				return nil
			}
			call := exchangeWith(t, agents)
			p := call()
			id := p.ask("session.create", document{}).Result["sessionId"]
			p.ask("session.unsubscribe", document{"sessionId": id})
			waits.Store(true)
			p.say("session.send", document{"sessionId": id, "prompt": "x", "model": "no such model"})
			refused := p.last
			<-asked
			params["sessionId"] = id
			assert.Nil(t, p.ask(method, params).Error)
			close(proceed)
			f := p.hear()
			for ; f.ID != refused; f = p.hear() {
				assert.Equal(t, "session.event", f.Method)
			}
			assert.Contains(t, []int{-32602, -32603}, f.Error.Code, "there is no such model, or the other prompt's run has begun")
			run := call().ask("session.send", document{"sessionId": id, "prompt": "z"}).Result["messageId"]
			for f = p.hear(); f.Params.Event != "done" || f.Params.Data["messageId"] != run; f = p.hear() {
				assert.Equal(t, "session.event", f.Method)
			}
		})
	}
}

func TestOverloadIsAnInternalError(t *testing.T) {
	agents := fake.New()
	proceed := make(chan struct{})
	agents.Before = func(context.Context, fake.Call) error { <-proceed; return nil }
	p := exchangeWith(t, agents)()
	for range 301 {
		p.say("session.create", document{})
	}
	f := p.hear()
	close(proceed)
	assert.Equal(t, p.last, f.ID)
	assert.Equal(t, -32603, f.Error.Code)
}

func TestBatchSubscribesToSeveralSessions(t *testing.T) {
	call := exchange(t, fake.Echo)
	a, b := call(), call()
	var ids []any
	for range 2 {
		id, _ := a.ask("session.create", document{}).Result["sessionId"].(string)
		ids = append(ids, id)
	}
	require.NoError(t, b.conn.WriteJSON([]document{
		{"jsonrpc": "2.0", "id": 1, "method": "session.subscribe", "params": document{"sessionId": ids[0]}},
		{"jsonrpc": "2.0", "id": 2, "method": "session.subscribe", "params": document{"sessionId": ids[1]}},
	}))
	_, _, err := b.conn.ReadMessage() // the answers
	require.NoError(t, err)
	for _, id := range ids {
		a.ask("session.send", document{"sessionId": id, "prompt": "x"})
		events := b.until("done")
		assert.Equal(t, id, events[len(events)-1].Params.SessionID)
	}
}

func TestNothingFollowsUnsubscribe(t *testing.T) {
	call := exchange(t, func(t *fake.Turn) {
		for i := range 2000 {
			t.Emit(event.MessageDelta{ID: "m", Text: fmt.Sprint(i, " ")})
		}
	})
	p := call()
	id, _ := p.ask("session.create", document{}).Result["sessionId"].(string)
	p.say("session.send", document{"sessionId": id, "prompt": "x"})
	for p.hear().Method == "" { //nolint:revive // until the first event
	}
	p.ask("session.unsubscribe", document{"sessionId": id})
	f := p.ask("session.list", document{})
	assert.Equal(t, p.last, f.ID)
	require.NoError(t, p.conn.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
	_, text, err := p.conn.ReadMessage()
	require.Error(t, err, "%s", text)
}
