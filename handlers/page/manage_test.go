package page_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

const unknown = "00000000-0000-0000-0000-000000000000"

func TestSessionsAreRenamedAndDeleted(t *testing.T) {
	inTime(t, func(p *portal) {
		u, s := p.Able(), p.Begun()
		assert.Equal(t, document{}, u.Ask("portal.session.rename", document{"session_id": s.ID(), "title": " A  name "}))
		assert.Equal(t, "A name", s.Info().Title)
		assert.Equal(t, document{}, u.Ask("portal.session.delete", document{"session_id": s.ID()}))
		assert.Equal(t, -32004, u.Ask("portal.session.delete", document{"session_id": s.ID()})["code"])
	})
}

func TestPlacementIsSharedByAllUIs(t *testing.T) {
	inTime(t, func(p *portal) {
		u, other, s := p.Able(), p.Able(), p.Begun()
		other.Ask("portal.sessions.watch", document{})
		other.Heard()
		assert.Equal(t, document{}, u.Ask("portal.session.update", document{"session_id": s.ID(), "pinned": true}))
		assert.Equal(t, document{}, u.Ask("portal.session.update", document{"session_id": s.ID(), "archived": true}))
		time.Sleep(time.Second)
		var seen document
		for _, f := range other.Raw() {
			if params, ok := f["params"].(document); ok && f["method"] == "portal.session.changed" {
				seen, _ = params["session"].(document)
			}
		}
		assert.Equal(t, true, seen["pinned"])
		assert.Equal(t, true, seen["archived"])
		assert.Equal(t, "/", seen["project"])
		assert.Equal(t, -32602, u.Ask("portal.session.update", document{"session_id": s.ID()})["code"])
		assert.Equal(t, -32004, u.Ask("portal.session.update", document{"session_id": unknown, "pinned": true})["code"])
	})
}

func TestLeftAgentCopyIsReported(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Forget {
				return errors.New("it is too fond of it")
			}
			return nil
		}
		u, s := p.Able(), p.Begun()
		left := u.Ask("portal.session.delete", document{"session_id": s.ID()})["left"]
		assert.Contains(t, left, "the session is deleted, but")
		assert.Contains(t, left, "too fond")
	})
}

func TestForkIsIndependent(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		_, session := u.Prompt("one")
		synctest.Wait()
		fork, _ := u.Ask("portal.session.fork", document{"session_id": session})["session_id"].(string)
		assert.NotEqual(t, session, fork)
		history := u.Ask("session.history", document{"session_id": fork})
		assert.InDelta(t, 1, history["runs"], 0)
		p.Agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u.Prompt("two")
		assert.Equal(t, -32001, u.Ask("portal.session.fork", document{"session_id": session})["code"])
	})
}

func TestForkEndsAtRun(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		first, session := u.Prompt("one")
		synctest.Wait()
		time.Sleep(time.Second)
		second := u.Ask("run.start", document{"session_id": session, "input": document{"type": "text", "text": "two"}})["run_id"]
		synctest.Wait()
		for _, params := range []document{{"session_id": session, "after_run": first}, {"session_id": session, "before_run": second}} {
			fork := u.Ask("portal.session.fork", params)["session_id"]
			assert.InDelta(t, 1, u.Ask("session.history", document{"session_id": fork})["runs"], 0)
			attached := u.Ask("portal.session.attach", document{"session_id": fork})
			assert.Equal(t, document{"session_id": session, "title": "two"}, attached["session"].(document)["forked_from"])
		}
		assert.Equal(t, -32002, u.Ask("portal.session.fork", document{"session_id": session, "after_run": "none"})["code"])
	})
}

func TestResendForksBeforeRun(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		run, session := u.Prompt("one")
		synctest.Wait()
		p.Agents.Script = func(t *fake.Turn) { t.Say(t.Model + " " + t.Prompt) }
		for text, params := range map[string]document{
			" one":     {},
			" edited":  {"text": "edited"},
			"-b again": {"text": "again", "model": "model-b"},
		} {
			params["session_id"], params["run_id"] = session, run
			resent := u.Ask("portal.session.resend", params)
			synctest.Wait()
			assert.NotEqual(t, run, resent["run_id"])
			s, err := p.Host.Session(t.Context(), resent["session_id"].(string))
			require.NoError(t, err)
			assert.Equal(t, 1, s.Info().Prompts)
			assert.Contains(t, p.Agents.Calls(fake.Send)[len(p.Agents.Calls(fake.Send))-1].Prompt, strings.TrimSpace(strings.TrimPrefix(text, "-b")))
		}
		for code, params := range map[int]document{-32602: {"session_id": session}, -32002: {"session_id": session, "run_id": "none"}, -32004: {"session_id": unknown, "run_id": run}} {
			assert.Equal(t, code, u.Ask("portal.session.resend", params)["code"])
		}
	})
}

func TestPermitAddsToSessionRules(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Ask(event.Question{Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "Run"})
		}
		u := p.Able()
		_, session := u.Prompt("a")
		u.Reply("ui.confirm.request", document{"ok": false})
		assert.Equal(t, document{}, u.Ask("portal.session.permit", document{"session_id": session, "permissions": document{permission.Exec: "allow"}}))
		u.Heard()
		u.Prompt("b")
		assert.NotContains(t, u.Heard(), "ui.confirm.request Run Run")
	})
}

func TestCompactionIsItsOwnRun(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		_, session := u.Prompt("one")
		synctest.Wait()
		u.Ask("ui.context.update", document{"cwd": "/tmp"})
		u.Heard()
		u.Say("portal.session.compact", document{"session_id": session})
		assert.Equal(t, []string{"ok", "status running", "0 compaction_start", "1 compaction_complete", "2 final", "status completed"}, u.Heard())
		u.Prompt("two")
		assert.NotEmpty(t, p.Agents.Calls(fake.Send)[1].Attachments, "the user's context stays for the next prompt")

		stranger := p.Able()
		stranger.Say("portal.session.compact", document{"session_id": session})
		assert.Equal(t, []string{"ok", "status running", "0 compaction_start", "1 compaction_complete", "2 final", "status completed"}, stranger.Heard())
	})
}

func TestExtensionsAreListedAndSignedInTo(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Extensions = agent.Extensions{
			Servers: []event.Server{{Name: "mail", State: event.ServerSignIn, Transport: "http"}},
			Skills:  []agent.Skill{{Name: "pdf", Path: "/not/there/SKILL.md"}},
		}
		u := p.Able()
		s := p.Begun()
		assert.Equal(t, document{
			"servers": []any{document{"id": "mail", "transport": "http", "source": "global", "enabled": true, "state": "error", "last_error": "a sign-in is needed"}},
			"skills":  []any{document{"id": "pdf", "name": "pdf", "description": "", "path": "/not/there/SKILL.md", "dir": "/not/there", "scope": "user", "mtime_ms": 0.0}},
		}, u.Ask("portal.session.extensions", document{"session_id": s.ID()}))
		assert.Equal(t, -32001, u.Ask("portal.server.signin", document{"session_id": s.ID(), "server": "mail"})["code"], "no agent is running yet")
		_, session := u.Prompt("one")
		assert.Equal(t, document{"url": "https://example.com/mail"}, u.Ask("portal.server.signin", document{"session_id": session, "server": "mail"}))
	})
}

func TestSearchFindsMessages(t *testing.T) {
	p, _ := storing(t)
	s := p.Begun()
	require.NoError(t, s.Rename(t.Context(), "🦆🦆 the herön flies"))
	u := p.Open()
	var results []any
	require.Eventually(t, func() bool { // it is searchable a moment later
		u.Say("portal.sessions.search", document{"query": "herön", "limit": 5})
		for _, f := range u.Frames() {
			r, _ := f["result"].(document)
			results, _ = r["results"].([]any)
		}
		return len(results) > 0
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, results, 1)
	found, _ := results[0].(document)
	assert.Equal(t, s.ID(), found["session_id"])
	assert.Equal(t, "title", found["kind"])
	assert.Equal(t, "🦆🦆 the herön flies", found["snippet"])
	assert.Equal(t, []any{[]any{9.0, 14.0}}, found["hits"], "in UTF-16 units")
}

func TestSearchNeedsStore(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		assert.Equal(t, -32005, u.Ask("portal.sessions.search", document{"query": "x"})["code"])
	})
}

func TestSessionParamsAreValidated(t *testing.T) {
	inTime(t, func(p *portal) {
		u, s := p.Able(), p.Begun()
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
			{"portal.session.changes", document{}, -32602},
			{"portal.session.changes", document{"session_id": unknown}, -32004},
			{"portal.session.diff", document{"session_id": s.ID()}, -32602},
			{"portal.session.diff", document{"session_id": s.ID(), "path": "x"}, -32005},
			{"portal.session.revert", document{"session_id": s.ID(), "hunk": "x"}, -32602},
			{"portal.session.revert", document{"session_id": s.ID()}, -32005},
			{"portal.session.restore", document{"session_id": s.ID()}, -32602},
			{"portal.session.restore", document{"session_id": s.ID(), "run_id": "x", "conversation": "drop"}, -32602},
			{"portal.session.restore", document{"session_id": unknown, "run_id": "x"}, -32004},
			{"portal.session.undo", document{"session_id": unknown}, -32004},
			{"portal.commit.propose", document{}, -32602},
			{"portal.commit.propose", document{"session_id": unknown}, -32004},
			{"portal.commit.create", document{"session_id": s.ID(), "message": "x"}, -32602},
			{"portal.commit.create", document{"session_id": s.ID(), "paths": []string{"a"}, "message": " "}, -32602},
			{"portal.pull_request.propose", document{}, -32602},
			{"portal.pull_request.create", document{"session_id": s.ID(), "title": ""}, -32602},
			{"portal.session.extensions", document{}, -32602},
			{"portal.session.extensions", document{"session_id": unknown}, -32004},
			{"portal.server.signin", document{"session_id": s.ID()}, -32602},
			{"portal.server.signin", document{"server": "x", "directory": "here"}, -32602},
			{"portal.server.signin", document{"session_id": unknown, "server": "x"}, -32004},
			{"portal.sessions.search", document{"query": 7}, -32602},
			{"portal.sessions.watch", document{"x": 7}, 0},
			{"portal.directory.complete", document{"path": "here"}, -32602},
			{"portal.directory.describe", document{"path": "here"}, -32602},
			{"portal.files.complete", document{"query": "x"}, -32602},
			{"portal.files.complete", document{"session_id": unknown, "query": "x"}, -32004},
			{"portal.files.complete", document{"session_id": s.ID(), "directory": "/", "query": "x"}, -32602},
			{"portal.files.complete", document{"directory": "here", "query": "x"}, -32602},
			{"portal.files.complete", document{"directory": "/\x00", "query": "x"}, -32602},
			{"portal.files.complete", document{"directory": "/not/there", "query": "x"}, -32602},
			{"portal.file.read", document{"path": "x"}, -32602},
			{"portal.file.read", document{"session_id": unknown, "path": "x"}, -32004},
			{"portal.file.read", document{"session_id": s.ID()}, -32602},
			{"portal.file.read", document{"session_id": s.ID(), "path": "../x"}, -32602},
			{"portal.file.read", document{"session_id": s.ID(), "path": "x", "from": "y"}, -32602},
			{"portal.files.find", document{"session_id": unknown, "paths": []string{"x"}}, -32004},
			{"portal.queue.list", document{}, -32602},
			{"portal.queue.list", document{"session_id": unknown}, -32004},
			{"portal.queue.edit", document{"session_id": s.ID(), "text": "x"}, -32602},
			{"portal.queue.edit", document{"session_id": s.ID(), "run_id": "x", "text": "x"}, -32002},
			{"portal.queue.move", document{"session_id": s.ID(), "run_id": "x"}, -32002},
			{"portal.queue.send", document{"session_id": s.ID(), "run_id": "x"}, -32002},
			{"portal.queue.send", document{"session_id": unknown, "run_id": "x"}, -32004},
			{"portal.status", document{"refresh": "yes"}, -32602},
		} {
			code, _ := u.Ask(test.method, test.params)["code"].(int)
			assert.Equal(t, test.code, code, "%s %v", test.method, test.params)
		}
	})
}
