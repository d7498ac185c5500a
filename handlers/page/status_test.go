package page_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/page"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

func TestStatusDescribesThePortal(t *testing.T) {
	about := page.About{
		Storage:   func() page.Storage { return page.Storage{OK: true, Directory: "/data", Bytes: 7} },
		Cluster:   func() *page.Cluster { return &page.Cluster{State: "disconnected", Message: "why", Node: "here"} },
		Providers: []page.Provider{{Name: "local", Type: "openai", Models: []string{"m"}}},
		Configuration: page.Configuration{
			File: "/c.yaml", Directory: "/", Permissions: page.Permissions{Rest: "allow", Headless: "deny", Rules: map[string]string{"git.push": "deny"}},
		},
	}
	uitest.InTime(t, uitest.Options{Page: page.Options{About: about}}, func(p *portal) {
		u := p.Able()
		time.Sleep(time.Hour)
		p.Begun()
		r := u.Ask("portal.status", document{})
		sessions, _ := r["sessions"].(document)
		assert.InDelta(t, 1, sessions["idle"], 0)
		delete(r, "sessions")
		assert.Equal(t, document{
			"version": "1", "uptime_s": 3600.0, "account": nil,
			"agent":     document{"state": "unknown", "version": "", "message": "", "hint": ""},
			"agents":    []any{},
			"pool":      document{"running": 0.0, "starts": 0.0, "deaths": 0.0},
			"storage":   document{"ok": true, "directory": "/data", "bytes": 7.0},
			"cluster":   document{"state": "disconnected", "message": "why", "node": "here"},
			"providers": []any{document{"name": "local", "type": "openai", "models": []any{"m"}}},
			"configuration": document{
				"file": "/c.yaml", "directory": "/", "demo": false, "terminal": false,
				"permissions": document{"rest": "allow", "headless": "deny", "rules": document{"git.push": "deny"}},
			},
		}, r)
		assert.Zero(t, p.Agents.Count(fake.Launch), "starts no agent")
	})
}

func TestAccountIsFetchedOnRequest(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Account = agent.Account{SignedIn: true, Login: "heron", Host: "example.org", Quotas: []agent.Quota{
			{Name: "chat", Used: 1, Limit: 10, Remaining: 90, Reset: time.Now()}, {Name: "free", Unlimited: true},
		}}
		r := p.Able().Ask("portal.status", document{"refresh": true})
		assert.Equal(t, document{"signed_in": true, "login": "heron", "host": "example.org", "quotas": []any{
			document{"name": "chat", "used": 1.0, "limit": 10.0, "unlimited": false, "remaining_percent": 90.0, "reset_at": "2000-01-01T00:00:00.000Z"},
			document{"name": "free", "used": 0.0, "limit": 0.0, "unlimited": true, "remaining_percent": 0.0},
		}}, r["account"])
		agent, _ := r["agent"].(document)
		assert.Equal(t, "ready", agent["state"], "includes the refreshed health")
		assert.Equal(t, []any{}, r["providers"])
		storage, _ := r["storage"].(document)
		assert.Equal(t, false, storage["ok"])
	})
}

func TestStatusReportsUnavailableAgent(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"an error for users": {fault.Errorf(fault.Unavailable, "it went fishing"), "fishing"},
		"an internal error":  {errors.New("heap at 0x7"), "the agent did not start"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.Agents.Before = func(context.Context, fake.Call) error { return test.err }
				r := p.Able().Ask("portal.status", document{"refresh": true})
				account, _ := r["account"].(document)
				require.NotNil(t, account)
				assert.Contains(t, account["message"], test.want)
				agent, _ := r["agent"].(document)
				assert.Equal(t, "failed", agent["state"])
			})
		})
	}
}
