package ui_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestNothingOfASessionComesBehindTheAnswerOfItsDetach(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			flood(t, "a")
			command(t)
		}
		w := p.able()
		_, session := w.run("x")
		synctest.Wait()
		v, stop, read := p.lazy()
		stop()
		attach := v.say("portal.session.attach", document{"session_id": session})
		synctest.Wait()
		detach := v.say("portal.session.detach", document{"session_id": session})
		synctest.Wait()
		read()
		frames := v.raw()
		after := -1
		for i, f := range frames {
			if f["id"] == detach && f["method"] == nil {
				after = i
			}
			if f["id"] == attach && f["method"] == nil {
				assert.Equal(t, "error -32001", line(f), "of what was cut off by it")
			}
		}
		require.GreaterOrEqual(t, after, 0)
		var late []string
		for _, f := range frames[after+1:] {
			if f["method"] != nil {
				late = append(late, line(f))
			}
		}
		assert.Empty(t, brief(late))
	})
}

func TestBatchOfAnAttachAndADetachLeavesNoDialog(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = command
		w := p.able()
		_, session := w.run("x")
		for range 50 {
			v, _, _ := p.lazy()
			attach := `{"jsonrpc":"2.0","id":"x","method":"portal.session.attach","params":{"session_id":"` + session + `"}}`
			list := `{"jsonrpc":"2.0","id":"y","method":"portal.session.detach","params":{"session_id":"` + session + `"}}`
			v.in <- []byte("[" + attach + "," + list + "]")
			synctest.Wait()
			if v.ask("portal.session.detach", document{"session_id": session})["detached"] == true {
				continue // the attach came last
			}
			got := v.heard()
			require.NotContains(t, got, "ui.confirm.request List files ls")
		}
	})
}

func TestDetachSparesQuestionsOfNextAttach(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = command
		w, v := p.able(), p.able()
		for i := range 30 {
			_, session := w.run("x")
			v.ask("portal.session.attach", document{"session_id": session})
			v.heard()
			v.say("portal.session.detach", document{"session_id": session})
			v.say("portal.session.attach", document{"session_id": session})
			synctest.Wait()
			seen := len(v.raw())
			v.reply("ui.confirm.request", document{"ok": true})
			ended := false
			for _, f := range v.raw()[seen:] {
				ended = ended || line(f) == "status completed"
			}
			w.reply("ui.confirm.request", document{"ok": true})
			late := false
			for _, f := range v.raw()[seen:] {
				late = late || line(f) == "status completed"
			}
			require.Equal(t, ended, late, "round %d: it is attached, and its answer does not count: %q", i, v.heard())
			v.say("portal.session.detach", document{"session_id": session})
			v.heard()
			w.heard()
		}
	})
}

func TestReopenedSessionIsNotReportedClosed(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			if t.Prompt == "flood" {
				flood(t, "a")
			}
		}
		w := p.able()
		_, quiet := w.run("a")
		synctest.Wait()
		v, stop, read := p.lazy()
		v.ask("portal.session.attach", document{"session_id": quiet})
		r := v.ask("portal.session.start", document{})
		loud := r["session_id"]
		v.ask("run.start", document{"session_id": loud, "input": text("b")})
		v.heard()
		stop()
		v.say("run.start", document{"session_id": loud, "input": text("flood")})
		synctest.Wait()
		w.ask("portal.session.close", document{"session_id": quiet})
		synctest.Wait()
		start := v.say("run.start", document{"session_id": quiet, "input": text("c")})
		synctest.Wait()
		read()
		frames := v.raw()
		begun, closed := -1, -1
		for i, f := range frames {
			if f["id"] == start && f["method"] == nil {
				begun = i
			}
			if f["method"] == "portal.session.closed" {
				closed = i
			}
		}
		require.GreaterOrEqual(t, begun, 0)
		assert.Less(t, closed, begun, "nothing more comes of it, the UI was told")
	})
}
