package ui_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestReconnectedUICanCancelWaitingRun(t *testing.T) {
	inTime(t, func(p *portal) {
		next := make(chan struct{})
		defer close(next)
		p.Agents.Script = func(*fake.Turn) { <-next }
		u := p.Able()
		_, session := u.Prompt("a")
		r := u.Ask("run.start", document{"session_id": session, "input": text("b"), "portal": document{"when_busy": "queue"}})
		require.NotEmpty(t, r["run_id"])
		close(u.In)
		v := p.Able()
		v.Ask("portal.session.attach", document{"session_id": session})
		assert.Equal(t, true, v.Ask("run.cancel", document{"run_id": r["run_id"]})["ok"])
	})
}

func TestHangingAgentDoesNotBlockCancel(t *testing.T) {
	inTime(t, func(p *portal) {
		hangs := false
		p.Agents.Before = func(ctx context.Context, c fake.Call) error {
			if hangs && (c.Method == fake.SetModel || c.Method == fake.Models) {
				return fake.HangForever(ctx, c)
			}
			return nil
		}
		p.Agents.Script = func(t *fake.Turn) {
			if t.Prompt == "long" {
				t.WaitForAbort()
			}
		}
		u := p.Able()
		_, other := u.Prompt("short")
		synctest.Wait()
		u.Ask("portal.session.start", document{})
		run, _ := u.Prompt("long")
		synctest.Wait()
		hangs = true
		u.Say("model.set", document{"session_id": other, "name": "x"})
		synctest.Wait()
		u.Say("run.start", document{"session_id": other, "input": text("x"), "tools": []document{{"name": "count", "parameters": document{"type": "object"}}}})
		cancel := u.Say("run.cancel", document{"run_id": run})
		begin := time.Now()
		for isAnswered := false; !isAnswered; {
			require.Zero(t, time.Since(begin), "the run is not cancelled while an agent says nothing about another session")
			for _, f := range u.Raw() {
				isAnswered = isAnswered || f["id"] == cancel && f["method"] == nil
			}
			if !isAnswered {
				time.Sleep(time.Second)
			}
		}
	})
}

func TestWaitingRequestsDoNotBlockCancel(t *testing.T) {
	inTime(t, func(p *portal) {
		hangs := false
		p.Agents.Before = func(ctx context.Context, c fake.Call) error {
			if hangs && c.Method == fake.Models {
				return fake.HangForever(ctx, c)
			}
			return nil
		}
		p.Agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u := p.Able()
		run, _ := u.Prompt("long")
		hangs = true
		for range 40 {
			u.Say("model.list", document{})
		}
		u.Ask("run.cancel", document{"run_id": run})
	})
}

func TestOldRunIsStillKnownToHaveEnded(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.Say(strings.Repeat("word ", 180)) }
		u := p.Able()
		run, _ := u.Prompt("a")
		for range 32 {
			synctest.Wait()
			u.Prompt("b")
		}
		synctest.Wait()
		assert.Equal(t, document{"ok": false, "status": "completed"}, u.Ask("run.cancel", document{"run_id": run}))
	})
}

func TestCompactionIgnoresEditorContext(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		u.Prompt("hello")
		synctest.Wait()
		u.Ask("ui.context.update", document{"cwd": "/tmp"})
		r := u.Ask("run.start", document{"input": text(""), "force_compaction": true})
		assert.Contains(t, r, "run_id", "%v", r)
	})
}

func TestBatchOfRunAndDetachIsAnswered(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		v := p.Able()
		_, session := u.Prompt("a")
		synctest.Wait()
		v.In <- []byte(`[{"jsonrpc":"2.0","id":"x","method":"run.start","params":{"session_id":"` + session + `","input":{"type":"text","text":"b"}}},` +
			`{"jsonrpc":"2.0","id":"z","method":"portal.session.detach","params":{"session_id":"` + session + `"}}]`)
		time.Sleep(time.Hour)
		assert.Contains(t, v.Heard(), "ok")
	})
}

func TestClosedSessionStillHasLists(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		_, session := u.Prompt("a")
		u.Ask("portal.session.close", document{"session_id": session})
		for _, method := range []string{"mcp.list", "skills.list", "model.list"} {
			assert.NotContains(t, u.Ask(method, document{}), "code", method)
		}
		assert.NotContains(t, u.Ask("model.set", document{"name": u.Ask("model.list", document{})["models"].([]any)[0]}), "code")
	})
}
