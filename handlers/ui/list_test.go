package ui_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestInitializeAnswersVersionZero(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Open()
		assert.Contains(t, u.Ask("model.list", document{}), "models", "before it, too")
		r := u.Ask("initialize", document{"protocol_version": "7", "client": document{"name": "x", "version": "1"}})
		assert.Equal(t, "0", r["protocol_version"])
		assert.Equal(t, document{"name": "copilot-portal", "version": "1"}, r["server"])
		can, _ := r["server_capabilities"].(document)
		for _, name := range []string{"supports_run_cancel", "supports_ui_requests", "supports_mcp_list", "supports_skills_list"} {
			assert.Equal(t, true, can[name], name)
		}
	})
}

func TestModelsAreListedAndSet(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Models = []agent.Model{{ID: "model-a", Name: "A", Context: 1000, Multiplier: 1}, {ID: "model-b", Name: "B"}}
		u := p.Able()
		assert.Equal(t, document{"provider": "copilot", "models": []any{"model-a", "model-b"}, "current": "model-a"}, u.Ask("model.list", document{"provider": "openai"}))
		assert.Equal(t, -32602, u.Ask("model.set", document{"name": "model-c"})["code"])
		assert.Equal(t, document{"provider": "copilot", "name": "model-b"}, u.Ask("model.set", document{"name": "b"}))
		_, session := u.Prompt("a")
		synctest.Wait()
		assert.Equal(t, "model-b", p.Agents.Calls(fake.Open)[0].Opening.Model, "before a session it counts for the next")
		assert.Equal(t, "model-a", u.Ask("model.set", document{"name": "model-a", "session_id": session})["name"])
		assert.Equal(t, "model-a", u.Ask("model.list", document{})["current"])
		details, _ := u.Ask("model.list", document{"include_details": true})["details"].(document)
		assert.Equal(t, document{"context_window": 1000.0, "max_input_tokens": 1000.0, "name": "A", "multiplier": 1.0, "vision": false}, details["model-a"])

		p.Agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u.Prompt("b")
		assert.Equal(t, -32001, u.Ask("model.set", document{"name": "model-b"})["code"], "during a run")
	})
}

func TestModelOfAnAgentIsSetBeforeItsFirstStart(t *testing.T) {
	other := fake.New()
	other.Models = []agent.Model{{ID: "other/a", Name: "A"}, {ID: "other/b", Name: "B"}}
	named := copilot.NamedAgent{
		Name: "other", Launch: other.Launch, Health: func() agent.Health { return agent.Health{} }, Capabilities: agent.Capabilities,
		Models: func() []agent.Model { return other.Models[:1] },
	}
	inTimeOf(t, copilot.Options{Agents: []copilot.NamedAgent{named}}, func(p *portal) {
		p.Cleanup(other.Close) // after the host
		u := p.Able()
		assert.Equal(t, "other/a", u.Ask("model.set", document{"name": "other/default"})["name"])
		assert.Equal(t, "other/b", u.Ask("model.set", document{"name": "other/b"})["name"])
		assert.Equal(t, -32602, u.Ask("model.set", document{"name": "other/c"})["code"])
	})
}

func TestModelIsFoundByItsIDBeforeAnotherOneByItsName(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Models = []agent.Model{{ID: "model-a", Name: "model-b"}, {ID: "model-b", Name: "B"}}
		assert.Equal(t, "model-b", p.Able().Ask("model.set", document{"name": "model-b"})["name"])
	})
}

func TestSessionsAreListed(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		_, first := u.Prompt("how are you?")
		time.Sleep(time.Minute)
		u.Ask("portal.session.start", document{"directory": t.TempDir()})
		run, second := u.Prompt("and now?")
		synctest.Wait()
		list, _ := u.Ask("session.list", document{})["sessions"].([]any)
		assert.Len(t, list, 2)
		newest, _ := list[0].(document)
		assert.Equal(t, second, newest["session_id"])
		assert.Equal(t, run, newest["run_id"])
		assert.Equal(t, "and now?", newest["last_user_message"])
		assert.InDelta(t, 1, newest["message_count"], 0)
		assert.Equal(t, "2000-01-01T00:01:00.000Z", newest["updated_at"])
		list, _ = u.Ask("session.list", document{"limit": 1})["sessions"].([]any)
		assert.Len(t, list, 1)
		list, _ = u.Ask("session.list", document{"scope": "current"})["sessions"].([]any)
		assert.Len(t, list, 1)
		here, _ := list[0].(document)
		assert.Equal(t, first, here["session_id"])
	})
}

func TestExtensionsAreListedDuringARun(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Extensions = agent.Extensions{
			Servers: []event.Server{
				{Name: "files", State: event.ServerConnected, Source: "workspace", Transport: "http"},
				{Name: "mail", State: event.ServerSignIn},
				{Name: "web", State: event.ServerFailed, Error: "no\x1b[2J"},
			},
			Skills: []agent.Skill{{Name: "pdf", Description: "Re\aads", Path: "/not/there/SKILL.md", Source: "project"}, {Name: "own"}},
		}
		p.Agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		u := p.Able()
		u.Prompt("work")
		assert.Equal(t, document{"servers": []any{
			document{"id": "files", "transport": "http", "source": "project", "enabled": true, "state": "ready"},
			document{"id": "mail", "transport": "stdio", "source": "global", "enabled": true, "state": "error", "last_error": "a sign-in is needed"},
			document{"id": "web", "transport": "stdio", "source": "global", "enabled": true, "state": "error", "last_error": "no[2J"},
		}}, u.Ask("mcp.list", document{"scope": "loaded"}))
		r := u.Ask("skills.list", document{"force_reload": true})
		assert.Equal(t, []any{
			document{"id": "pdf", "name": "pdf", "description": "Reads", "path": "/not/there/SKILL.md", "dir": "/not/there", "scope": "repo", "mtime_ms": 0.0},
			document{"id": "own", "name": "own", "description": "", "path": "", "dir": "", "scope": "user", "mtime_ms": 0.0},
		}, r["skills"])
		assert.Len(t, r["errors"], 1)
		assert.InDelta(t, -32602, u.Ask("skills.list", document{"cwd": "/not/there"})["code"], 0)
	})
}

func TestSessionsOfDirectoryAreListedByAnyName(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	inTime(t, func(p *portal) {
		for _, directory := range []string{dir, link, dir + "/./", "/"} {
			_, err := p.Host.Start(p.Context(), copilot.Start{Origin: "rest", Directory: directory, WithoutAgent: true})
			require.NoError(t, err)
		}
		u := p.Able()
		for cwd, want := range map[string]int{dir: 3, link + "/": 3, "/": 1, "/elsewhere": 0} {
			u.Ask("ui.context.update", document{"cwd": cwd})
			list, _ := u.Ask("session.list", document{"scope": "current"})["sessions"].([]any)
			assert.Len(t, list, want, cwd)
		}
	})
}
