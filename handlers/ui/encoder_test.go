package ui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// told are the newest members of events of a type, and forgets them.
func (u *screen) told(kind, member string) (list []any) {
	u.Helper()
	for _, f := range u.raw() {
		p, _ := f["params"].(document)
		if e, _ := p["event"].(document); e["type"] == kind {
			list = append(list, e[member])
		}
	}
	u.heard()
	return list
}

// attached is the session that portal.session.attach answers with.
func (u *screen) attached(session string) document {
	u.Helper()
	s, _ := u.ask("portal.session.attach", document{"session_id": session})["session"].(document)
	u.heard()
	return s
}

func TestEffectivePermissionsAreSent(t *testing.T) {
	inTimeOf(t, copilot.Options{Policy: permission.Policy{"git.push": permission.Deny}}, func(p *portal) {
		s := p.begun()
		u, plain := p.able("supports_deltas"), p.able()
		assert.Equal(t, document{"git.push": "deny"}, u.attached(s.ID())["permissions"])
		plain.attached(s.ID())
		plain.ask("portal.session.permit", document{"session_id": s.ID(), "permissions": document{"fs.write": "allow"}})
		want := document{"git.push": "deny", "fs.write": "allow"}
		assert.Equal(t, []any{want}, u.told("permissions", "rules"))
		assert.Empty(t, plain.told("permissions", "rules"), "who takes no deltas is not told")
		assert.Equal(t, want, p.able("supports_deltas").attached(s.ID())["permissions"])
	})
}

func TestQueuedPromptsAreSentToAllUIs(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		s := p.begun()
		u, other := p.able("supports_deltas"), p.able("supports_deltas")
		assert.Equal(t, []any{}, u.attached(s.ID())["waiting"])
		_, err := s.Prompt(event.Prompt{Text: "a"})
		require.NoError(t, err)
		run, err := s.Prompt(event.Prompt{Text: "b\nand more", By: "rest"})
		require.NoError(t, err)
		waits := []any{document{"run_id": run, "text": "b and more", "by": "rest"}}
		assert.Equal(t, []any{waits}, u.told("queue", "waiting"))
		assert.Equal(t, waits, other.attached(s.ID())["waiting"])

		mine := other.ask("run.start", document{
			"session_id": s.ID(), "input": document{"type": "text", "text": "c"}, "portal": document{"when_busy": "queue"},
		})["run_id"]
		queued := document{"run_id": mine, "text": "c", "by": "ui"}
		assert.Equal(t, []any{append(waits, queued)}, u.told("queue", "waiting"))
		u.ask("run.cancel", document{"run_id": run})
		synctest.Wait()
		assert.Equal(t, []any{[]any{queued}}, u.told("queue", "waiting"))
		assert.Contains(t, other.told("queue", "waiting"), []any{queued})
	})
}
