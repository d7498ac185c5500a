package ui_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/ui"
)

const unknown = "00000000-0000-0000-0000-000000000000"

func TestSessionsAreRenamedAndDeleted(t *testing.T) {
	inTime(t, func(p *portal) {
		u, s := p.able(), p.begun()
		assert.Equal(t, document{}, u.ask("portal.session.rename", document{"session_id": s.ID(), "title": " A  name "}))
		assert.Equal(t, "A name", s.Info().Title)
		assert.Equal(t, document{}, u.ask("portal.session.delete", document{"session_id": s.ID()}))
		assert.Equal(t, -32004, u.ask("portal.session.delete", document{"session_id": s.ID()})["code"])
	})
}

func TestLeftAgentCopyIsReported(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Forget {
				return errors.New("it is too fond of it")
			}
			return nil
		}
		u, s := p.able(), p.begun()
		left := u.ask("portal.session.delete", document{"session_id": s.ID()})["left"]
		assert.Contains(t, left, "the session is deleted, but")
		assert.Contains(t, left, "too fond")
	})
}

func TestForkIsIndependent(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		_, session := u.run("one")
		synctest.Wait()
		fork, _ := u.ask("portal.session.fork", document{"session_id": session})["session_id"].(string)
		assert.NotEqual(t, session, fork)
		history := u.ask("session.history", document{"session_id": fork})
		assert.InDelta(t, 1, history["runs"], 0)
		p.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u.run("two")
		assert.Equal(t, -32001, u.ask("portal.session.fork", document{"session_id": session})["code"])
	})
}

func TestPermissionsGoOverThoseOfTheSession(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = asks(event.Question{Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "Run"})
		u := p.able()
		_, session := u.run("a")
		u.reply("ui.confirm.request", document{"ok": false})
		assert.Equal(t, document{}, u.ask("portal.session.permit", document{"session_id": session, "permissions": document{permission.Exec: "allow"}}))
		u.heard()
		u.run("b")
		assert.NotContains(t, u.heard(), "ui.confirm.request Run Run")
	})
}

func TestCompactionIsARunOfItsOwn(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		_, session := u.run("one")
		synctest.Wait()
		u.ask("ui.context.update", document{"cwd": "/tmp"})
		u.heard()
		u.say("portal.session.compact", document{"session_id": session})
		assert.Equal(t, []string{"ok", "status running", "0 compaction_start", "1 compaction_complete", "2 final", "status completed"}, u.heard())
		u.run("two")
		assert.NotEmpty(t, p.agents.Calls(fake.Send)[1].Attachments, "where the user works is for the next prompt")

		stranger := p.able()
		stranger.say("portal.session.compact", document{"session_id": session})
		assert.Equal(t, []string{"ok", "status running", "0 compaction_start", "1 compaction_complete", "2 final", "status completed"}, stranger.heard())
	})
}

func TestExtensionsOfASessionAreListedAndSignedInTo(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Extensions = agent.Extensions{
			Servers: []event.Server{{Name: "mail", State: event.ServerSignIn, Transport: "http"}},
			Skills:  []agent.Skill{{Name: "pdf", Path: "/not/there/SKILL.md"}},
		}
		u := p.able()
		s := p.begun()
		assert.Equal(t, document{
			"servers": []any{document{"id": "mail", "transport": "http", "source": "global", "enabled": true, "state": "error", "last_error": "a sign-in is needed"}},
			"skills":  []any{document{"id": "pdf", "name": "pdf", "description": "", "path": "/not/there/SKILL.md", "dir": "/not/there", "scope": "user", "mtime_ms": 0.0}},
		}, u.ask("portal.session.extensions", document{"session_id": s.ID()}))
		assert.Equal(t, -32001, u.ask("portal.server.signin", document{"session_id": s.ID(), "server": "mail"})["code"], "there is no agent yet")
		_, session := u.run("one")
		assert.Equal(t, document{"url": "https://example.com/mail"}, u.ask("portal.server.signin", document{"session_id": session, "server": "mail"}))
	})
}

func TestSearchFindsMessages(t *testing.T) {
	kept, err := store.Open(t.Context(), store.Options{Directory: t.TempDir()})
	require.NoError(t, err)
	defer kept.Close()
	p := &portal{T: t, agents: fake.New()}
	p.host = p.agents.NewHost(copilot.Options{Store: kept})
	p.ui = ui.New(ui.Options{Host: p.host, WorkDir: "/", Version: "1"})
	defer p.agents.Close()
	defer p.host.Close(t.Context())
	s := p.begun()
	require.NoError(t, s.Rename(t.Context(), "🦆🦆 the herön flies"))
	u := p.open()
	var results []any
	require.Eventually(t, func() bool { // it can be found a moment later
		u.say("portal.sessions.search", document{"query": "herön", "limit": 5})
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, f := range u.frames {
			r, _ := f["result"].(document)
			results, _ = r["results"].([]any)
		}
		return len(results) > 0
	}, 10*time.Second, 10*time.Millisecond)
	require.Len(t, results, 1)
	found, _ := results[0].(document)
	assert.Equal(t, s.ID(), found["session_id"])
	assert.Equal(t, "title", found["kind"])
	assert.Equal(t, "🦆🦆 the herön flies", found["snippet"])
	assert.Equal(t, []any{[]any{9.0, 14.0}}, found["hits"], "as JavaScript counts")
}

func TestWithoutAStoreNothingIsFound(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		assert.Equal(t, -32005, u.ask("portal.sessions.search", document{"query": "x"})["code"])
	})
}

func TestSessionParamsAreValidated(t *testing.T) {
	inTime(t, func(p *portal) {
		u, s := p.able(), p.begun()
		for _, test := range []struct {
			method string
			params document
			code   int
		}{
			{"portal.session.rename", document{"title": "x"}, -32602},
			{"portal.session.rename", document{"session_id": s.ID(), "title": " "}, -32602},
			{"portal.session.rename", document{"session_id": unknown, "title": "x"}, -32004},
			{"portal.session.delete", document{}, -32602},
			{"portal.session.fork", document{}, -32602},
			{"portal.session.fork", document{"session_id": unknown}, -32004},
			{"portal.session.permit", document{"session_id": s.ID()}, -32602},
			{"portal.session.permit", document{"session_id": s.ID(), "permissions": document{"git.such": "allow"}}, -32602},
			{"portal.session.permit", document{"session_id": s.ID(), "permissions": document{"exec.run": "perhaps"}}, -32602},
			{"portal.session.permit", document{"session_id": unknown, "permissions": document{}}, -32004},
			{"portal.session.compact", document{}, -32602},
			{"portal.session.compact", document{"session_id": unknown}, -32004},
			{"portal.session.extensions", document{}, -32602},
			{"portal.session.extensions", document{"session_id": unknown}, -32004},
			{"portal.server.signin", document{"session_id": s.ID()}, -32602},
			{"portal.server.signin", document{"server": "x"}, -32602},
			{"portal.server.signin", document{"session_id": unknown, "server": "x"}, -32004},
			{"portal.sessions.search", document{"query": 7}, -32602},
			{"portal.sessions.watch", document{"x": 7}, 0},
			{"portal.directory.complete", document{"path": "here"}, -32602},
			{"portal.directory.describe", document{"path": "here"}, -32602},
			{"portal.files.complete", document{"query": "x"}, -32602},
			{"portal.files.complete", document{"session_id": unknown, "query": "x"}, -32004},
			{"portal.status", document{"refresh": "yes"}, -32602},
		} {
			code, _ := u.ask(test.method, test.params)["code"].(int)
			assert.Equal(t, test.code, code, "%s %v", test.method, test.params)
		}
	})
}
