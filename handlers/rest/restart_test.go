package rest_test

import (
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/rest"
)

func TestLiveContinuesAfterRestart(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		assert.Equal(d, echo, callbacks(d.until(s, "onIdle")))
		d.settle()
		d.restart()
		assert.Equal(d, document{"error": "HttpRequestTimeout"}, d.call("GET", s+"/live", ""))
		d.call("POST", s+"/query", "hello again")
		assert.Equal(d, echo, callbacks(d.until(s, "onIdle")))
	})
}

func TestLongTokenDoesNotFillTheMemory(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		d.call("GET", s+"/live/"+strings.Repeat("x", 60<<10), "")
		assert.LessOrEqual(d, d.rest.LongestBookmark(), 80)
	})
}

func TestBookmarkOfSessionThatIsNotLoadedIsDropped(t *testing.T) {
	stored(t, copilot.Options{MaxClosed: 1, Limits: copilot.Limits{Idle: time.Minute}}, func(d *durable) {
		var kept, gone, loaded string
		for _, s := range []*string{&kept, &gone, &loaded} {
			*s = d.echoed("hello there")
			d.until(*s, "onIdle")
		}
		require.NoError(d, d.host.Delete(d.Context(), path.Base(gone)))
		time.Sleep(2 * time.Hour)
		assert.Equal(d, document{"error": "HttpRequestTimeout"}, d.call("GET", kept+"/live", ""), "it was read before")
		assert.Equal(d, 2, d.rest.Bookmarks())
	})
}

func TestUnreadResponsesSurviveRestart(t *testing.T) {
	for name, read := range map[string]int{"nothing was read": 0, "half was read": 3} {
		t.Run(name, func(t *testing.T) {
			stored(t, copilot.Options{}, func(d *durable) {
				s := d.echoed("hello there")
				var got []document
				for range read {
					got = append(got, d.call("GET", s+"/live", ""))
				}
				d.settle()
				d.restart()
				assert.Equal(d, echo, callbacks(append(got, d.until(s, "onIdle")...)))
			})
		})
	}
}

func TestTokenContinuesAfterRestart(t *testing.T) {
	for name, token := range map[string]string{"short": "/live/one", "long": "/live/" + strings.Repeat("x", 1000), "with a NUL": "/live/a%00b"} {
		t.Run(name, func(t *testing.T) {
			stored(t, copilot.Options{}, func(d *durable) {
				s := d.echoed("hello there")
				assert.Equal(d, past, callbacks(d.batch(s+token)))
				d.settle()
				d.restart()
				d.call("POST", s+"/query", "hello again")
				synctest.Wait()
				assert.Equal(d, "onUserMessage "+echo, callbacks(d.batch(s+token)), "unread texts come in deltas")
				other := append(d.batch(s+token+"other"), d.batch(s+token+"other")...) // from the store and from memory
				assert.Equal(d, past+" "+past, callbacks(other))
			})
		})
	}
}

func TestTokenContinuesWithinTextAfterRestart(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		proceed := make(chan struct{})
		d.agents.Script = func(t *fake.Turn) {
			t.Emit(event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "hello "})
			<-proceed
			t.Emit(event.MessageDelta{ID: "m", Text: "there"}, event.MessageEnded{ID: "m", Text: "hello there"})
		}
		s := d.echoed("x")
		assert.Equal(d, "onUserMessage onStartMessage onMessage", callbacks(d.batch(s+"/live/one")))
		close(proceed)
		synctest.Wait()
		d.settle()
		d.restart()
		assert.Equal(d, "onMessage onEndMessage onIdle", callbacks(d.batch(s+"/live/one")))
	})
}

func TestUnusedTokenExpiresEvenAfterRestart(t *testing.T) {
	stored(t, copilot.Options{Limits: copilot.Limits{Idle: 24 * time.Hour}}, func(d *durable) {
		s := d.echoed("hello there")
		d.batch(s + "/live/one")
		d.settle()
		time.Sleep(61 * time.Minute)
		d.call("GET", s+"/live", "") // a call by another reader triggers the sweep
		d.settle()
		d.restart()
		assert.Equal(d, past, callbacks(d.batch(s+"/live/one")))
	})
}

func TestExpiredTokenStartsAgain(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		d.batch(s + "/live/one")
		time.Sleep(61 * time.Minute)
		assert.Equal(d, past, callbacks(d.batch(s+"/live/one")))
	})
}

func TestLiveOnSuspendedSessionIsAnsweredByNextQuery(t *testing.T) {
	for _, form := range []string{"/live", "/live/one"} {
		stored(t, copilot.Options{}, func(d *durable) {
			s := d.start("")
			d.settle()
			d.restart()
			answer := make(chan document)
			go func() { answer <- d.call("GET", s+form, "") }()
			synctest.Wait()
			begin := time.Now()
			d.call("POST", s+"/query", "x")
			assert.NotContains(d, <-answer, "error")
			assert.Less(d, time.Since(begin), time.Second)
		})
	}
}

func TestEvictedSessionHasNotEnded(t *testing.T) {
	stored(t, copilot.Options{MaxClosed: 1}, func(d *durable) {
		first, others := d.start(""), []string{d.start(""), d.start("")}
		d.settle()
		d.restart()
		answer := make(chan document)
		go func() { answer <- d.call("GET", first+"/live", "") }()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		for _, s := range others {
			assert.Contains(d, d.call("GET", s+"/history", ""), "events") // evicts the first session
		}
		assert.Equal(d, document{"error": "HttpRequestTimeout"}, <-answer)
		d.call("POST", first+"/query", "hello there")
		assert.Equal(d, echo, callbacks(d.until(first, "onIdle")))
	})
}

func TestSessionSuspendedByTimeoutCanBeStopped(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		time.Sleep(time.Hour) // virtual
		assert.Equal(d, "idle", d.listed(s)["state"])
		assert.Equal(d, document{"result": "Closed"}, d.call("POST", s+"/stop", ""))
		assert.Equal(d, document{"error": "SessionNotFound"}, d.call("POST", s+"/query", "x"))
		assert.Equal(d, "closed", d.listed(s)["state"])
	})
}

func TestSuspendedSessionCanBeStopped(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		d.settle()
		d.restart()
		assert.Equal(d, "idle", d.listed(s)["state"])
		assert.Equal(d, document{"result": "Closed"}, d.call("POST", s+"/stop", ""))
		for _, again := range []string{"/stop", "/query", "/cancel"} {
			assert.Equal(d, document{"error": "SessionNotFound"}, d.call("POST", s+again, "x"), again)
		}
		assert.Equal(d, echo+" ", callbacks(d.until(s, "nothing")), "unread responses, then the end")
		d.settle()
		d.restart()
		assert.Equal(d, "closed", d.listed(s)["state"])
		assert.Equal(d, document{"error": "SessionNotFound"}, d.call("POST", s+"/query", "x"))
		assert.Empty(d, d.call("POST", s+"/resume", ""))
		assert.Equal(d, document{"error": "SessionAlreadyOpen"}, d.call("POST", s+"/resume", ""))
		d.call("POST", s+"/query", "hello again")
		assert.Equal(d, echo, callbacks(d.until(s, "onIdle")))
	})
}

// listed returns a session's entry in the list.
func (a *api) listed(session string) document {
	a.Helper()
	list, _ := a.call("GET", "/copilot/session", "")["sessions"].([]any)
	for _, one := range list {
		if info, _ := one.(document); "/copilot/session/"+info["sessionId"].(string) == session {
			return info
		}
	}
	return nil
}

func TestSuspendedSessionAcceptsEveryCommand(t *testing.T) {
	for name, tc := range map[string]struct {
		method, path, body string
		want               document
	}{
		"query":  {"POST", "/query", "x", document{}},
		"cancel": {"POST", "/cancel", "", document{}},
		"resume": {"POST", "/resume", "", document{}},
		"rename": {"POST", "/rename", "x", document{}},
		"delete": {"DELETE", "", "", document{}},
		"answer": {"POST", "/answer/q", `{"approved":true}`, document{"error": "QuestionNotFound"}},
	} {
		t.Run(name, func(t *testing.T) {
			stored(t, copilot.Options{}, func(d *durable) {
				s := d.echoed("hello there")
				d.settle()
				d.restart()
				assert.Equal(d, tc.want, d.call(tc.method, s+tc.path, tc.body))
				synctest.Wait()
				if name != "delete" {
					assert.Equal(d, "idle", d.listed(s)["state"])
				}
			})
		})
	}
}

func TestSessionOfAnotherProcessIsReadOnly(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		d.settle()
		other := d.beside()
		info := other.listed(s)
		assert.Equal(d, "elsewhere", info["state"])
		assert.NotZero(d, info["owner"])
		assert.NotContains(d, d.listed(s), "owner", "absent without an owner")
		for _, c := range [][3]string{
			{"POST", "/query", "x"},
			{"POST", "/cancel", ""},
			{"POST", "/resume", ""},
			{"POST", "/stop", ""},
			{"POST", "/rename", "x"},
			{"DELETE", "", ""},
			{"POST", "/answer/q", `{"approved":true}`},
		} {
			code, fault := other.status(c[0], s+c[1], c[2])
			assert.Equal(d, 409, code, c)
			assert.Contains(d, fault, "the session is in use by process", c)
		}
		assert.Equal(d, echo, callbacks(other.until(s, "onIdle")))
		assert.NotEmpty(d, other.call("GET", s+"/history", "")["events"])
		go d.call("POST", s+"/query", "hello again")
		assert.Equal(d, echo, callbacks(other.until(s, "onIdle")), "read live")
	})
}

func TestQuestionOfKilledPortalCanBeAnswered(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		d.agents.Script = func(t *fake.Turn) {
			answer, _ := t.Ask(event.Question{ID: "q", Names: []string{permission.Exec}})
			t.Say(answer.Reason)
		}
		s := d.start("?permissions=ask")
		d.call("POST", s+"/query", "x")
		assert.Equal(d, "onPermissionRequest", d.call("GET", s+"/live", "")["callback"])
		d.settle()
		d.kill()
		assert.Equal(d, document{"error": "HttpRequestTimeout"}, d.call("GET", s+"/live", ""), "reported before")
		assert.Empty(d, d.call("POST", s+"/answer/q", `{"approved":false,"reason":"not now"}`))
		got := d.until(s, "onIdle")
		assert.Equal(d, "onQuestionAnswered onStartMessage onMessage onMessage onEndMessage onIdle", callbacks(got))
		assert.Equal(d, "not now", got[4]["completeContent"])
	})
}

func TestUnstoredEventsAreReportedAsGap(t *testing.T) {
	for name, stored := range map[string]uint64{"something was stored": 2, "nothing was": 0} {
		r := journal.New(journal.Options[event.Event]{Epoch: 2, Earlier: []journal.Position{{Epoch: 1, N: stored}}})
		for range 9 {
			_, err := r.Append(event.Event{Body: event.RunStarted{}})
			require.NoError(t, err)
		}
		answer, after := rest.Behind(r, journal.Position{Epoch: 1, N: 5})
		assert.JSONEq(t, `{"sessionError":"gap: some of the last events up to 5 were lost before they were stored"}`, answer, name)
		assert.Equal(t, stored, after)
	}
}

func TestUnreadableStoreIsTemporaryError(t *testing.T) {
	stored(t, copilot.Options{RecordBudget: 1}, func(d *durable) {
		s := d.echoed("hello there", "hello again")
		d.settle()
		got := []document{d.call("GET", s+"/live", "")}
		d.settle()
		require.NoError(d, d.store.Close()) // behind the portal's back
		for _, path := range []string{"/live", "/live/one", "/history"} {
			code, fault := d.status("GET", s+path, "")
			assert.Equal(d, 503, code, path)
			assert.Contains(d, fault, "could not be read", path)
		}
		listed := d.call("GET", "/copilot/session", "")
		assert.Len(d, listed["sessions"], 1, "sessions in memory are listed without it")
		assert.Contains(d, listed["incomplete"], "could not be read")
		d.restart()
		assert.Equal(d, echo, callbacks(append(got, d.until(s, "onIdle")...)))
		assert.Equal(d, past+" "+past, callbacks(d.batch(s+"/live/one")))
	})
}
