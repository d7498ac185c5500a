package rpc_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/rpc"
)

func TestUnattendedPermissionIsDecidedAndExplained(t *testing.T) {
	for said, decision := range map[string]permission.Decision{"refused": permission.Deny, "allowed": permission.Allow} {
		t.Run(string(decision), func(t *testing.T) {
			h := copilot.Options{Unattended: rpc.Unattended(2*time.Minute, decision, "")}
			inTimeWith(t, h, rpc.Options{}, func(a *api) {
				a.agents.Script = runs
				id := a.create(document{})
				s := a.open(id, "", "")
				<-s.events
				began := time.Now()
				a.send(id, "p")
				got := s.until("done")
				assert.Equal(a, 2*time.Minute, time.Since(began))
				why := "No client that can answer was there for 2m0s, so the portal " + said
				e := find(a, got, "error")
				assert.InDelta(a, -32001, e["code"], 0)
				assert.Contains(a, e["data"], "Run make: "+why)
				assert.Contains(a, e["data"], "sidecar.unattended")
				assert.Contains(a, shown(got), "Run make: "+why, "the plugin shows it")
				answered := find(a, got, "question.answered")
				assert.Equal(a, decision == permission.Allow, answered["approved"])
				assert.Equal(a, "unattended", answered["by"])
				for _, e := range got {
					if e.name == "timeline.message" {
						assert.IsType(a, "", e.data["content"], "%v", e.data)
					}
				}
			})
		})
	}
}

func TestPermissionWaitsWhereTheClientCanAnswer(t *testing.T) {
	h := copilot.Options{Unattended: rpc.Unattended(2*time.Minute, permission.Deny, "")}
	waits := func(t *testing.T, test func(a *api) (session string)) {
		t.Helper()
		inTimeWith(t, h, rpc.Options{}, func(a *api) {
			a.agents.Script = runs
			a.plugin.answer = always(200, success)
			id := test(a)
			a.send(id, "p")
			time.Sleep(time.Hour)
			s, err := a.host.Session(a.Context(), id)
			require.NoError(a, err)
			assert.Equal(a, copilot.StateWaiting, s.Info().State)
		})
	}
	t.Run("as it says when it creates the session", func(t *testing.T) {
		waits(t, func(a *api) string { return a.create(document{"interactive": true}) })
	})
	t.Run("as it has answered before", func(t *testing.T) {
		waits(t, func(a *api) string {
			id := a.create(document{})
			a.send(id, "p")
			synctest.Wait()
			a.must("question.answer", document{"sessionId": id, "callId": "c", "approved": true})
			synctest.Wait()
			return id
		})
	})
	t.Run("as a UI is attached", func(t *testing.T) {
		waits(t, func(a *api) string {
			id := a.create(document{})
			a.Cleanup(a.host.AttachClient(id, copilot.Capabilities{Kinds: []event.QuestionKind{event.AskPermission}}))
			return id
		})
	})
}

func TestPluginIsAskedForAsLongAsItTakes(t *testing.T) {
	address := "http://localhost:1/"
	for name, c := range map[string]struct {
		configured string
		params     document
	}{
		"with an address of its own": {"", document{"callbackUrl": address}},
		"with the configured one":    {address, document{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := copilot.Options{Unattended: rpc.Unattended(2*time.Minute, permission.Deny, c.configured)}
			inTimeWith(t, h, rpc.Options{Limit: time.Hour, Callback: c.configured}, func(a *api) {
				a.agents.Script = runs
				done := make(chan struct{})
				a.plugin.answer = func(r *http.Request, _ document) (int, string) {
					select {
					case <-done:
					case <-r.Context().Done():
					}
					return 200, success
				}
				id := a.create(c.params)
				s := a.open(id, "", "")
				a.send(id, "p")
				time.Sleep(30 * time.Minute)
				close(done)
				got := s.until("done")
				assert.Equal(a, "ran", shown(got))
				assert.NotContains(a, names(got), "error")
			})
		})
	}
}

// restarted runs a test with a portal, and another one on what that has left.
func restarted(t *testing.T, o rpc.Options, before func(*api) (session string), after func(a *api, session string)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		defer agents.Close()
		session := ""
		for _, part := range []func(*api){
			func(a *api) { session = before(a) },
			func(a *api) { after(a, session) },
		} {
			kept, err := store.Open(t.Context(), store.Options{Directory: dir})
			require.NoError(t, err)
			a := newAPI(t, agents, copilot.Options{Store: kept}, o)
			part(a)
			synctest.Wait()
			a.rpc.Close()
			a.host.Close(t.Context())
			require.NoError(t, kept.Close())
		}
	})
}

func TestCallbackAddressIsStoredWithSession(t *testing.T) {
	for name, c := range map[string]struct {
		params document
		want   string
	}{
		"given when it was created": {document{"callbackUrl": "http://localhost:1/own"}, "http://localhost:1/own"},
		"the configured one":        {document{}, "http://localhost:2/tool-callback"},
	} {
		t.Run(name, func(t *testing.T) {
			restarted(t, rpc.Options{Callback: "http://localhost:2"}, func(a *api) string {
				id := a.create(c.params)
				a.send(id, "hello")
				return id
			}, func(a *api, id string) {
				a.agents.Script, a.plugin.answer = commits, always(200, success)
				a.send(id, "p")
				synctest.Wait()
				require.NotEmpty(a, a.plugin.paths)
				assert.Equal(a, c.want, a.plugin.paths[0])
			})
		})
	}
	t.Run("given with a prompt", func(t *testing.T) {
		give := func(a *api, id, address string) {
			a.must("session.send", document{"sessionId": id, "prompt": "p", "callbackUrl": address, "permissions": document{"git.commit": "allow"}})
			synctest.Wait()
		}
		restarted(t, rpc.Options{}, func(a *api) string {
			a.agents.Script, a.plugin.answer = commits, always(200, success)
			id := a.create(document{"callbackUrl": "http://localhost:1/old"})
			give(a, id, "http://localhost:1/new")
			assert.Equal(a, []string{"http://localhost:1/new"}, a.plugin.paths)
			missing := []document{{"file": "/no/where"}}
			_, data := a.refused("session.send", document{"sessionId": id, "prompt": "p", "callbackUrl": "http://localhost:1/refused", "context": missing})
			assert.Contains(a, data, "/no/where")
			a.send(id, "p")
			synctest.Wait()
			assert.Equal(a, []string{"http://localhost:1/new", "http://localhost:1/new"}, a.plugin.paths)
			return id
		}, func(a *api, id string) {
			a.agents.Script, a.plugin.answer = commits, always(200, success)
			a.plugin.paths = nil
			a.send(id, "p")
			synctest.Wait()
			assert.Equal(a, []string{"http://localhost:1/new"}, a.plugin.paths)
			code, data := a.refused("session.send", document{"sessionId": id, "prompt": "p", "callbackUrl": "http://example.org/"})
			assert.Equal(a, -32602, code)
			assert.True(a, strings.HasPrefix(data, "call-backs go to this machine only"), data)
		})
	})
}

func TestRefusedPromptLeavesNoCallbackAddress(t *testing.T) {
	h := copilot.Options{Unattended: rpc.Unattended(2*time.Minute, permission.Deny, "")}
	inTimeWith(t, h, rpc.Options{}, func(a *api) {
		a.agents.Script, a.plugin.answer = runs, always(200, success)
		id := a.create(document{})
		missing := []document{{"file": "/no/where"}}
		a.refused("session.send", document{"sessionId": id, "prompt": "p", "callbackUrl": "http://localhost:1/", "context": missing})
		s := a.open(id, "", "")
		a.send(id, "p")
		assert.Contains(a, names(s.until("done")), "error", "nobody can answer")
		assert.Empty(a, a.plugin.paths)
	})
}
