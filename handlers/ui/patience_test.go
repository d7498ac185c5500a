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

func TestRunThatWaitsCanBeCancelledByAUIThatReconnects(t *testing.T) {
	inTime(t, func(p *portal) {
		next := make(chan struct{})
		defer close(next)
		p.agents.Script = func(*fake.Turn) { <-next }
		u := p.able()
		_, session := u.run("a")
		r := u.ask("run.start", document{"session_id": session, "input": text("b"), "portal": document{"when_busy": "queue"}})
		require.NotEmpty(t, r["run_id"])
		close(u.in)
		v := p.able()
		v.ask("portal.session.attach", document{"session_id": session})
		assert.Equal(t, true, v.ask("run.cancel", document{"run_id": r["run_id"]})["ok"])
	})
}

func TestAgentThatHangsDoesNotKeepTheUIFromCancelling(t *testing.T) {
	inTime(t, func(p *portal) {
		hangs := false
		p.agents.Before = func(ctx context.Context, c fake.Call) error {
			if hangs && (c.Method == fake.SetModel || c.Method == fake.Models) {
				return fake.HangForever(ctx, c)
			}
			return nil
		}
		p.agents.Script = func(t *fake.Turn) {
			if t.Prompt == "long" {
				t.WaitForAbort()
			}
		}
		u := p.able()
		_, other := u.run("short")
		synctest.Wait()
		u.ask("portal.session.start", document{})
		run, _ := u.run("long")
		synctest.Wait()
		hangs = true
		u.say("model.set", document{"session_id": other, "name": "x"})
		synctest.Wait()
		u.say("run.start", document{"session_id": other, "input": text("x"), "tools": []document{{"name": "count", "parameters": document{"type": "object"}}}})
		cancel := u.say("run.cancel", document{"run_id": run})
		begin := time.Now()
		for isAnswered := false; !isAnswered; {
			require.Zero(t, time.Since(begin), "the run is not cancelled while an agent says nothing about another session")
			for _, f := range u.raw() {
				isAnswered = isAnswered || f["id"] == cancel && f["method"] == nil
			}
			if !isAnswered {
				time.Sleep(time.Second)
			}
		}
	})
}

func TestManyRequestsThatWaitDoNotKeepTheUIFromCancelling(t *testing.T) {
	inTime(t, func(p *portal) {
		hangs := false
		p.agents.Before = func(ctx context.Context, c fake.Call) error {
			if hangs && c.Method == fake.Models {
				return fake.HangForever(ctx, c)
			}
			return nil
		}
		p.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u := p.able()
		run, _ := u.run("long")
		hangs = true
		for range 40 {
			u.say("model.list", document{})
		}
		u.ask("run.cancel", document{"run_id": run})
	})
}

func TestRunOfLongAgoIsStillKnownToHaveEnded(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.Say(strings.Repeat("word ", 180)) }
		u := p.able()
		run, _ := u.run("a")
		for range 32 {
			synctest.Wait()
			u.run("b")
		}
		synctest.Wait()
		assert.Equal(t, document{"ok": false, "status": "completed"}, u.ask("run.cancel", document{"run_id": run}))
	})
}

func TestCompactionIgnoresEditorContext(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		u.run("hello")
		synctest.Wait()
		u.ask("ui.context.update", document{"cwd": "/tmp"})
		r := u.ask("run.start", document{"input": text(""), "force_compaction": true})
		assert.Contains(t, r, "run_id", "%v", r)
	})
}

func TestBatchOfARunAndADetachIsAnswered(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		v, _, _ := p.lazy()
		_, session := u.run("a")
		synctest.Wait()
		v.in <- []byte(`[{"jsonrpc":"2.0","id":"x","method":"run.start","params":{"session_id":"` + session + `","input":{"type":"text","text":"b"}}},` +
			`{"jsonrpc":"2.0","id":"z","method":"portal.session.detach","params":{"session_id":"` + session + `"}}]`)
		time.Sleep(time.Hour)
		assert.Contains(t, v.heard(), "a batch")
	})
}

func TestListsOfAClosedSession(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		_, session := u.run("a")
		u.ask("portal.session.close", document{"session_id": session})
		for _, method := range []string{"mcp.list", "skills.list", "model.list"} {
			assert.NotContains(t, u.ask(method, document{}), "code", method)
		}
		assert.NotContains(t, u.ask("model.set", document{"name": u.ask("model.list", document{})["models"].([]any)[0]}), "code")
	})
}
