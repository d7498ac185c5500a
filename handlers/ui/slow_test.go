package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/ui"
)

// inTimeOf is inTime with a host of one's own.
func inTimeOf(t *testing.T, host copilot.Options, test func(*portal)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &portal{T: t, agents: fake.New()}
		p.host = p.agents.NewHost(host)
		p.ui = ui.New(ui.Options{Host: p.host, WorkDir: "/", Version: "1"})
		defer p.agents.Close()
		defer p.host.Close(t.Context())
		test(p)
	})
}

// lazy is a UI that reads only when it is let. Call read to let it read for ever.
func (p *portal) lazy(more ...string) (u *screen, stop, read func()) {
	p.Helper()
	u = &screen{portal: p, asked: map[string]any{}, in: make(chan []byte, 10_000), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(p.Context())
	var hangup sync.Once
	gone := make(chan struct{})
	var mu sync.Mutex
	free := make(chan struct{})
	close(free)
	stop = func() { mu.Lock(); defer mu.Unlock(); free = make(chan struct{}) }
	read = func() { mu.Lock(); defer mu.Unlock(); close(free) }
	carrier := jsonrpc.Frames{
		Receive: func() ([]byte, error) {
			select {
			case frame := <-u.in:
				return frame, nil
			case <-gone:
				return nil, io.ErrClosedPipe
			}
		},
		Send: func(frame []byte) error {
			mu.Lock()
			wait := free
			mu.Unlock()
			select {
			case <-wait:
			case <-gone:
				return io.ErrClosedPipe
			}
			var d document
			if json.Unmarshal(frame, &d) != nil {
				d = document{"method": "a batch"}
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			u.frames = append(u.frames, d)
			if method, ok := d["method"].(string); ok && d["id"] != nil {
				u.asked[method] = d["id"]
			}
			return nil
		},
		Hangup: func() error { hangup.Do(func() { close(gone) }); return nil },
	}
	go func() { u.done <- p.ui.Serve(ctx, carrier, ui.Client{}) }()
	p.Cleanup(cancel)
	can := document{"supports_confirm": true, "supports_prompt": true, "supports_pick": true}
	for _, m := range more {
		can[m] = true
	}
	u.ask("initialize", document{"protocol_version": "0", "ui_capabilities": can})
	u.heard()
	return u, stop, read
}

// flood says more than is kept for a UI that does not read.
func flood(t *fake.Turn, name string) {
	for i := range 5 {
		t.Call("bash", `{}`, fmt.Sprint(name, i, strings.Repeat("x", 400<<10)))
	}
}

func budget(list []string, want string) (n int) {
	for _, l := range list {
		if l == want {
			n++
		}
	}
	return n
}

func brief(list []string) []string {
	out := make([]string, 0, len(list))
	for _, l := range list {
		out = append(out, l[:min(len(l), 60)])
	}
	return out
}

func text(s string) document { return document{"type": "text", "text": s} }

var (
	_ = require.NoError
	_ = assert.Equal
)

func TestHistoryThatASlowUIAsksForDoesNotSwallowTheEndOfItsRun(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { flood(t, "a") }
		u, stop, read := p.lazy()
		_, session := u.run("warm up")
		synctest.Wait()
		u.heard()
		stop()
		u.say("run.start", document{"session_id": session, "input": text("go")})
		synctest.Wait() // the run is over, its events wait for the UI
		u.say("session.history", document{"session_id": session})
		synctest.Wait()
		read()
		got := brief(u.heard())
		assert.Equal(t, 1, budget(got, "status completed"), "%s", strings.Join(got, "\n"))
	})
}

func TestClosedQuestionIsNotAskedAfterItsRun(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			flood(t, "a")
			command(t)
		}
		u := p.able()
		_, session := u.run("go")
		v, stop, read := p.lazy()
		u.reply("ui.confirm.request", document{"ok": true})
		v.ask("portal.session.attach", document{"session_id": session})
		v.heard()
		stop()
		u.ask("run.start", document{"session_id": session, "input": text("again")})
		synctest.Wait()
		u.reply("ui.confirm.request", document{"ok": true})
		synctest.Wait()
		read()
		got := brief(v.heard())
		end := -1
		for i, l := range got {
			if l == "status completed" {
				end = i
			}
		}
		require.GreaterOrEqual(t, end, 0)
		assert.Empty(t, got[end+1:])
		assert.NotContains(t, got, "ui.confirm.request List files ls", "it was over before it could be put")
	})
}

func TestRunThatEndedInAGapHasATerminalStatus(t *testing.T) {
	inTimeOf(t, copilot.Options{RecordBudget: 1 << 20}, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { flood(t, t.Prompt) }
		u, stop, read := p.lazy()
		first, session := u.run("a")
		synctest.Wait()
		u.heard()
		stop()
		w := p.able()
		u.say("run.start", document{"session_id": session, "input": text("b")})
		synctest.Wait()
		w.ask("run.start", document{"session_id": session, "input": text("c")})
		synctest.Wait()
		read()
		begun, ended := map[any]int{}, map[any]int{}
		for _, f := range u.raw() {
			if params, _ := f["params"].(document); f["method"] == "run.status" {
				switch params["status"] {
				case "running":
					begun[params["run_id"]]++
				default:
					ended[params["run_id"]]++
				}
			}
		}
		assert.NotContains(t, begun, first)
		for run := range begun {
			assert.Equal(t, 1, ended[run], "the UI shows a run that never ends")
		}
	})
}

func TestAttachDuringRunStartReportsEndOnce(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			if t.Prompt == "a" {
				flood(t, "a")
			}
		}
		u := p.able()
		_, session := u.run("a")
		synctest.Wait()
		v, stop, read := p.lazy()
		stop()
		v.say("portal.session.attach", document{"session_id": session})
		synctest.Wait()
		v.say("run.start", document{"session_id": session, "input": text("b")})
		synctest.Wait()
		read()
		ended := map[any]int{}
		for _, f := range v.raw() {
			if params, _ := f["params"].(document); f["method"] == "run.status" && params["status"] == "completed" {
				ended[params["run_id"]]++
			}
		}
		require.Len(t, ended, 2)
		for _, n := range ended {
			assert.Equal(t, 1, n)
		}
	})
}
