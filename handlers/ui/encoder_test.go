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

// told returns the newest members of events of a type, and forgets them.
func told(u *screen, kind, member string) (list []any) {
	u.Helper()
	for _, f := range u.Raw() {
		p, _ := f["params"].(document)
		if e, _ := p["event"].(document); e["type"] == kind {
			list = append(list, e[member])
		}
	}
	u.Heard()
	return list
}

// attached is the session that portal.session.attach answers with.
func attached(u *screen, session string) document {
	u.Helper()
	s, _ := u.Ask("portal.session.attach", document{"session_id": session})["session"].(document)
	u.Heard()
	return s
}

func TestEffectivePermissionsAreSent(t *testing.T) {
	inTimeOf(t, copilot.Options{Policy: permission.Policy{"git.push": permission.Deny}}, func(p *portal) {
		s := p.Begun()
		u, plain := p.Able("supports_deltas"), p.Able()
		assert.Equal(t, document{"git.push": "deny"}, attached(u, s.ID())["permissions"])
		attached(plain, s.ID())
		plain.Ask("portal.session.permit", document{"session_id": s.ID(), "permissions": document{"fs.write": "allow"}})
		want := document{"git.push": "deny", "fs.write": "allow"}
		assert.Equal(t, []any{want}, told(u, "permissions", "rules"))
		assert.Empty(t, told(plain, "permissions", "rules"), "who takes no deltas is not told")
		assert.Equal(t, want, attached(p.Able("supports_deltas"), s.ID())["permissions"])
	})
}

func TestQueuedPromptsAreSentToAllUIs(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		s := p.Begun()
		u, other := p.Able("supports_deltas"), p.Able("supports_deltas")
		assert.Equal(t, []any{}, attached(u, s.ID())["waiting"])
		_, err := s.Prompt(event.Prompt{Text: "a"})
		require.NoError(t, err)
		run, err := s.Prompt(event.Prompt{Text: "b\nand more", By: "rest"})
		require.NoError(t, err)
		waits := []any{document{"run_id": run, "text": "b and more", "by": "rest"}}
		assert.Equal(t, []any{waits}, told(u, "queue", "waiting"))
		assert.Equal(t, waits, attached(other, s.ID())["waiting"])

		mine := other.Ask("run.start", document{
			"session_id": s.ID(), "input": document{"type": "text", "text": "c"}, "portal": document{"when_busy": "queue"},
		})["run_id"]
		queued := document{"run_id": mine, "text": "c", "by": "ui"}
		assert.Equal(t, []any{append(waits, queued)}, told(u, "queue", "waiting"))
		u.Ask("run.cancel", document{"run_id": run})
		synctest.Wait()
		assert.Equal(t, []any{[]any{queued}}, told(u, "queue", "waiting"))
		assert.Contains(t, told(other, "queue", "waiting"), []any{queued})
	})
}

func TestRestoredFilesAreReported(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Emit(event.FilesRestored{ID: "r", Kind: event.RestoreUndo, Target: "run", Undoes: "q", Paths: []string{"a\a"}, Files: 30, By: "rpc"})
		}
		u := p.Able("supports_deltas")
		u.Prompt("a")
		assert.Equal(t, []any{[]any{"a"}}, told(u, "files_restored", "paths"), "without control sequences")
	})
}
