package ui_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

func TestNothingFollowsDetach(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			flood(t, "a")
			command(t)
		}
		w := p.Able()
		_, session := w.Prompt("x")
		synctest.Wait()
		v := p.Able()
		v.StopReading()
		attach := v.Say("portal.session.attach", document{"session_id": session})
		synctest.Wait()
		detach := v.Say("portal.session.detach", document{"session_id": session})
		synctest.Wait()
		v.ReadAgain()
		frames := v.Raw()
		after := -1
		for i, f := range frames {
			if f["id"] == detach && f["method"] == nil {
				after = i
			}
			if f["id"] == attach && f["method"] == nil {
				assert.Equal(t, "error -32001", uitest.Line(f), "of what was cut off by it")
			}
		}
		require.GreaterOrEqual(t, after, 0)
		var late []string
		for _, f := range frames[after+1:] {
			if f["method"] != nil {
				late = append(late, uitest.Line(f))
			}
		}
		assert.Empty(t, brief(late))
	})
}

func TestBatchOfAttachAndDetachLeavesNoDialog(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		w := p.Able()
		_, session := w.Prompt("x")
		for range 50 {
			v := p.Able()
			attach := `{"jsonrpc":"2.0","id":"x","method":"portal.session.attach","params":{"session_id":"` + session + `"}}`
			list := `{"jsonrpc":"2.0","id":"y","method":"portal.session.detach","params":{"session_id":"` + session + `"}}`
			v.In <- []byte("[" + attach + "," + list + "]")
			synctest.Wait()
			if v.Ask("portal.session.detach", document{"session_id": session})["detached"] == true {
				continue // the attach came last
			}
			got := v.Heard()
			require.NotContains(t, got, "ui.confirm.request List files ls")
		}
	})
}

func TestDetachSparesQuestionsOfNextAttach(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = command
		w, v := p.Able(), p.Able()
		for i := range 10 {
			_, session := w.Prompt("x")
			v.Ask("portal.session.attach", document{"session_id": session})
			v.Heard()
			v.Say("portal.session.detach", document{"session_id": session})
			v.Say("portal.session.attach", document{"session_id": session})
			synctest.Wait()
			seen := len(v.Raw())
			v.Reply("ui.confirm.request", document{"ok": true})
			ended := false
			for _, f := range v.Raw()[seen:] {
				ended = ended || uitest.Line(f) == "status completed"
			}
			w.Reply("ui.confirm.request", document{"ok": true})
			late := false
			for _, f := range v.Raw()[seen:] {
				late = late || uitest.Line(f) == "status completed"
			}
			require.Equal(t, ended, late, "round %d: it is attached, and its answer does not count: %q", i, v.Heard())
			v.Say("portal.session.detach", document{"session_id": session})
			v.Heard()
			w.Heard()
		}
	})
}

func TestReopenedSessionIsNotReportedClosed(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			if t.Prompt == "flood" {
				flood(t, "a")
			}
		}
		w := p.Able()
		_, quiet := w.Prompt("a")
		synctest.Wait()
		v := p.Able()
		v.Ask("portal.session.attach", document{"session_id": quiet})
		r := v.Ask("portal.session.start", document{})
		loud := r["session_id"]
		v.Ask("run.start", document{"session_id": loud, "input": text("b")})
		v.Heard()
		v.StopReading()
		v.Say("run.start", document{"session_id": loud, "input": text("flood")})
		synctest.Wait()
		w.Ask("portal.session.close", document{"session_id": quiet})
		synctest.Wait()
		start := v.Say("run.start", document{"session_id": quiet, "input": text("c")})
		synctest.Wait()
		v.ReadAgain()
		frames := v.Raw()
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
