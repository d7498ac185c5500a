package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// watcher is a UI that keeps what it receives.
type watcher struct {
	*portaltest.UI
	t      *testing.T
	last   int
	events []string // of the session, in order
}

// newWatcher initializes a UI that supports confirm.
func newWatcher(t *testing.T, carrier *portaltest.UI) *watcher {
	t.Helper()
	u := &watcher{UI: carrier, t: t}
	u.ask("initialize", document{
		"protocol_version": "0", "client": document{"name": "test", "version": "1"},
		"ui_capabilities": document{"supports_confirm": true},
	})
	return u
}

func (u *watcher) request(method string, params any) (id string) {
	u.t.Helper()
	u.last++
	id = fmt.Sprint(u.last)
	u.write(document{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id
}

func (u *watcher) write(d document) {
	u.t.Helper()
	line, err := json.Marshal(d)
	require.NoError(u.t, err)
	u.Send(string(line))
}

// next returns the next message and keeps it if it belongs to a run.
func (u *watcher) next() document {
	u.t.Helper()
	line, err := u.Receive(agentStarts)
	require.NoError(u.t, err)
	return u.keep(line)
}

func (u *watcher) keep(line string) document {
	u.t.Helper()
	var d document
	require.NoError(u.t, json.Unmarshal([]byte(line), &d), line)
	p, _ := d["params"].(document)
	switch d["method"] {
	case "agent.event":
		event, err := json.Marshal(p["event"])
		require.NoError(u.t, err)
		u.events = append(u.events, fmt.Sprint(p["run_id"], " ", p["seq"], " ", string(event)))
	case "run.status":
		u.events = append(u.events, fmt.Sprint(p["run_id"], " ", p["status"]))
	}
	return d
}

// ask sends a request and waits for the response.
func (u *watcher) ask(method string, params any) document {
	u.t.Helper()
	id := u.request(method, params)
	for {
		d := u.next()
		if d["id"] == id && d["method"] == nil {
			require.Nil(u.t, d["error"], "%s", method)
			result, _ := d["result"].(document)
			return result
		}
	}
}

// until reads up to a message with this method, or of a run with this status.
func (u *watcher) until(what string) document {
	u.t.Helper()
	for {
		d := u.next()
		p, _ := d["params"].(document)
		if d["method"] == what || d["method"] == "run.status" && p["status"] == what {
			return d
		}
	}
}

func hasThreeClients(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	directory := t.TempDir()
	session := p.StartSession(directory, "permissions=ask") // over REST

	stream := portaltest.Stdio(t, "--attach", p.URL)
	terminal, page := newWatcher(t, stream.UI), newWatcher(t, p.UI(""))
	for _, u := range []*watcher{terminal, page} {
		u.ask("portal.session.attach", document{"session_id": session})
	}

	p.Query(session, "run `echo one`") // started over REST
	asked := terminal.until("ui.confirm.request")
	params, _ := asked["params"].(document)
	assert.Equal(t, "echo one", params["message"])
	terminal.write(document{"jsonrpc": "2.0", "id": asked["id"], "result": document{"ok": true}}) // approved in the terminal
	terminal.until("completed")

	page.until("completed")
	page.ask("run.start", document{"session_id": session, "input": document{"type": "text", "text": "say `two`"}}) // continued on the page
	page.until("completed")
	terminal.until("completed")

	done := portaltest.Answer(p.Until(session, "onIdle"))
	assert.Contains(t, done, "one", "the script has seen the first run")
	assert.Contains(t, portaltest.Answer(p.Until(session, "onIdle")), "two", "and the second")

	var prompts int
	var here []string
	for _, e := range page.events { // the UI that started the second run does not get its prompt
		here = append(here, e)
		if strings.Contains(e, "hidden_user_message") {
			prompts++
		}
	}
	assert.Equal(t, 1, prompts)
	var there []string
	for _, e := range terminal.events {
		if !strings.Contains(e, "hidden_user_message") || !strings.Contains(e, "two") {
			there = append(there, e)
		}
	}
	assert.Equal(t, here, there, "the terminal and the page have seen the same")
	assert.GreaterOrEqual(t, len(here), 12)

	stream.CloseInput()
	assert.Equal(t, 0, stream.Wait())
}

func answersThousandRequests(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	stream := portaltest.Stdio(t)
	for name, carrier := range map[string]*portaltest.UI{"stdio": stream.UI, "socket": p.UI("")} {
		u := newWatcher(t, carrier)
		const many = 1000
		began := time.Now()
		for i := range many {
			switch i % 4 {
			case 0:
				u.request("session.list", document{})
			case 1:
				u.request("run.start", document{"input": document{"type": "text", "text": "say `hello`"}})
			case 2:
				u.request("no.such.method", document{})
			default:
				u.request("session.history", document{"session_id": "none"})
			}
		}
		codes := map[any]int{}
		for answered := 0; answered < many; {
			d := u.next()
			if d["method"] != nil {
				continue
			}
			answered++
			failed, _ := d["error"].(document)
			codes[failed["code"]]++
		}
		t.Logf("%s: %v, %v", name, time.Since(began), codes)
		assert.Equal(t, 250, codes[-32601.0], name)
		assert.Equal(t, many, codes[nil]+codes[-32601.0]+codes[-32001.0], name)
		assert.GreaterOrEqual(t, codes[nil], 501, "%s: one run starts, the others are refused as busy until it has ended", name)
	}
}

func answersLongAndInvalidLines(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	stream := portaltest.Stdio(t)
	for name, carrier := range map[string]*portaltest.UI{"stdio": stream.UI, "socket": p.UI("")} {
		u := newWatcher(t, carrier)
		long := strings.Repeat("0123456789abcdef", 10<<20/16)
		assert.Empty(t, u.ask("ui.context.update", document{"extensions": document{"note": long}}), "%s: 10 MB are accepted", name)
		id := u.request("run.start", document{"input": document{"type": "text", "text": "say `ok`"}, "meta": document{"note": long}})
		d := u.next()
		failed, _ := d["error"].(document)
		assert.Equal(t, id, d["id"])
		assert.InDelta(t, -32602, failed["code"], 0, "%s: the data stored with a prompt is limited", name)
		if name == "socket" { // an invalid frame closes a WebSocket; see handlers/socket
			continue
		}
		u.Send("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"session.list\",\"params\":{\"scope\":\"\xff\"}}")
		d = u.next()
		failed, _ = d["error"].(document)
		assert.InDelta(t, -32700, failed["code"], 0, "%v", d)
		assert.Contains(t, u.ask("session.list", document{}), "sessions", "the connection continues")
	}
}

func TestEndOfInputDuringARunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	stream := portaltest.Stdio(t)
	u := newWatcher(t, stream.UI)
	u.request("run.start", document{"input": document{"type": "text", "text": "run `sleep 300`"}})
	asked := u.until("ui.confirm.request")
	u.write(document{"jsonrpc": "2.0", "id": asked["id"], "result": document{"ok": true}})
	u.until("running")
	require.Eventually(t, func() bool {
		for _, c := range stream.Children() {
			if strings.Contains(c.Command, "sleep 300") {
				return true
			}
		}
		return false
	}, soon, tick, "the command runs")
	began := time.Now()
	stream.CloseInput()
	for {
		line, err := stream.Receive(soon)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		u.keep(line)
	}
	assert.Equal(t, 0, stream.Wait())
	t.Logf("ended in %v", time.Since(began))
	assert.Empty(t, stream.Children())
}
