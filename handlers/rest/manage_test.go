package rest_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
)

// history reads a record page by page.
func (a *api) history(session, query string) (types string, numbers []float64) {
	a.Helper()
	var names []string
	for after := 0.0; ; {
		d := a.call("GET", fmt.Sprintf("%s/history?after=%.0f&%s", session, after, query), "")
		events, ok := d["events"].([]any)
		require.True(a, ok, "%v", d)
		for _, e := range events {
			event, _ := e.(document)
			name, _ := event["type"].(string)
			names = append(names, name)
			if n, ok := event["n"].(float64); ok {
				numbers = append(numbers, n)
			}
		}
		next, more := d["next"].(float64)
		if !more {
			return strings.Join(names, " "), numbers
		}
		require.Greater(a, next, after)
		after = next
	}
}

func TestSessionIsPinnedAndArchived(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello")
		assert.Empty(d, d.call("POST", s+"/update", `{"pinned": true, "archived": true}`))
		assert.Empty(d, d.call("POST", s+"/update", `{"archived": false}`))
		list, _ := d.call("GET", strings.TrimSuffix(s[:strings.LastIndex(s, "/")], "/"), "")["sessions"].([]any)
		require.Len(d, list, 1)
		one, _ := list[0].(document)
		assert.Equal(d, true, one["pinned"])
		assert.Nil(d, one["archived"])
		assert.Equal(d, "completed", one["outcome"])
		for _, body := range []string{"", "{}", "[]", `{"pinned": "yes"}`} {
			assert.NotEmpty(d, d.call("POST", s+"/update", body)["error"], body)
		}
	})
}

// echoHistory is the history of a session with one run of the echo script.
const echoHistory = "session.opened run.started user.message turn.started message.started message.ended turn.ended run.ended"

func TestHistoryIsPagedWithoutWaiting(t *testing.T) {
	for _, query := range []string{"", "limit=1", "limit=3", "limit=100000"} {
		t.Run(query, func(t *testing.T) {
			stored(t, copilot.Options{}, func(d *durable) {
				s := d.echoed("hello there")
				begin := time.Now()
				types, numbers := d.history(s, query)
				assert.Equal(d, echoHistory, types)
				assert.Equal(d, []float64{1, 2, 3, 4, 5, 8, 9, 10}, numbers, "deltas are omitted")
				d.call("POST", s+"/stop", "")
				types, _ = d.history(s, query)
				assert.Equal(d, echoHistory+" session.closed", types)
				assert.Zero(d, time.Since(begin))
				d.settle()
				d.restart()
				types, _ = d.history(s, query)
				assert.Equal(d, echoHistory+" session.closed", types, "from the store")
			})
		})
	}
}

func TestHistoryEventEqualsExportLineWithNumber(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		a.call("POST", s+"/query", "hello there")
		synctest.Wait()
		d := a.call("GET", s+"/history?after=2&limit=1", "")
		events, _ := d["events"].([]any)
		require.Len(a, events, 1)
		event, _ := events[0].(document)
		assert.Equal(a, []any{3.0, 1.0, "user.message"}, []any{event["n"], event["v"], event["type"]})
		assert.Equal(a, []any{10.0, 3.0}, []any{d["last"], d["next"]})
		assert.Equal(a, document{"events": []any{}, "last": 10.0}, a.call("GET", s+"/history?after=18446744073709551615", ""))
		for _, query := range []string{"after=x", "after=-1", "limit=x", "after=18446744073709551616"} {
			code, fault := a.status("GET", s+"/history?"+query, "")
			assert.Equal(a, 400, code)
			assert.Contains(a, fault, "a non-negative integer is required")
		}
		assert.Equal(a, document{"error": "SessionNotFound"}, a.call("GET", "/copilot/session/x/history", ""))
	})
}

func TestEvictedEventsAreGapInHistory(t *testing.T) {
	inTime(t, copilot.Options{RecordBudget: 4 << 10}, func(a *api) {
		s := a.start("")
		for range 20 {
			a.call("POST", s+"/query", "x")
			synctest.Wait()
		}
		d := a.call("GET", s+"/history", "")
		events, _ := d["events"].([]any)
		first, _ := events[0].(document)
		second, _ := events[1].(document)
		assert.Equal(a, document{"type": "gap", "after": 0.0, "first": first["first"]}, first)
		assert.GreaterOrEqual(a, second["n"], first["first"])
		types, _ := a.history(s, "limit=1")
		assert.Equal(a, 1, strings.Count(types, "gap"))
	})
}

func TestPartlyEvictedSessionIsExportedCompletely(t *testing.T) {
	stored(t, copilot.Options{RecordBudget: 4 << 10}, func(d *durable) {
		var prompts []string
		for i := range 30 {
			prompts = append(prompts, fmt.Sprintf("prompt-%d.", i))
		}
		s := d.echoed(prompts...)
		d.settle()
		for _, when := range []string{"open", "suspended"} {
			for _, format := range []string{"markdown", "jsonl"} {
				_, text := d.raw("GET", s+"/export?format="+format)
				for _, p := range prompts {
					assert.GreaterOrEqual(d, strings.Count(text, p), 2, "%s, %s, %s", when, format, p)
				}
				assert.NotContains(d, text, `"gap"`)
			}
			types, _ := d.history(s, "limit=7")
			assert.Equal(d, 30, strings.Count(types, "run.ended"), when)
			d.restart()
		}
	})
}

func TestDeletedSessionIsNotFound(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		d.until(s, "onIdle")
		d.settle()
		assert.NotEmpty(d, d.agents.Saved())
		assert.Empty(d, d.call("DELETE", s, ""))
		assert.Empty(d, d.agents.Saved())
		for _, c := range [][2]string{{"DELETE", ""}, {"POST", "/query"}, {"GET", "/live"}, {"GET", "/history"}, {"POST", "/fork"}, {"POST", "/rename"}} {
			assert.Equal(d, document{"error": "SessionNotFound"}, d.call(c[0], s+c[1], "x"), c)
		}
		assert.Empty(d, d.call("GET", "/copilot/session", "")["sessions"])
		d.settle()
		d.restart()
		assert.Empty(d, d.call("GET", "/copilot/session", "")["sessions"])
	})
}

func TestSessionIsDeletedEvenIfAgentKeepsItsCopy(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		d.until(s, "onIdle")
		d.settle()
		d.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Forget {
				return fault.Errorf(fault.Unavailable, "it is asleep")
			}
			return nil
		}
		code, fault := d.status("DELETE", s, "")
		assert.Equal(d, 503, code)
		assert.Equal(d, "the session is deleted, but the agent's own copy is not: it is asleep", fault)
		assert.Equal(d, document{"error": "SessionNotFound"}, d.call("GET", s+"/history", ""))
	})
}

func TestTitleIsSetAndKept(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		assert.Empty(d, d.call("POST", s+"/rename", "  A title\nof two lines "))
		assert.Equal(d, "A title of two lines", d.listed(s)["title"])
		for _, body := range []string{"", " ", strings.Repeat("x", 201)} {
			code, fault := d.status("POST", s+"/rename", body)
			assert.Equal(d, 400, code)
			assert.Contains(d, fault, "title")
		}
		d.settle()
		d.restart()
		assert.Equal(d, "A title of two lines", d.listed(s)["title"])
	})
}

func TestForkIsIndependentOfOriginal(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("hello there")
		fork, _ := d.call("POST", s+"/fork", "")["sessionId"].(string)
		require.NotEmpty(d, fork)
		copied := "/copilot/session/" + fork
		require.NotEqual(d, s, copied)
		d.call("POST", copied+"/query", "hello again")
		synctest.Wait()
		assert.Contains(d, callbacks(d.batch(copied+"/live/one")), past)
		_, numbers := d.history(s, "")
		assert.Len(d, numbers, 8, "the original is unchanged")

		d.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		d.call("POST", s+"/query", "x")
		synctest.Wait()
		code, fault := d.status("POST", s+"/fork", "")
		assert.Equal(d, 409, code)
		assert.Contains(d, fault, "when the current run has ended")
	})
}

func TestForkEndsAtRunAndPromptIsResent(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("one")
		time.Sleep(time.Second)
		d.call("POST", s+"/query", "two")
		synctest.Wait()
		var runs []any
		for _, e := range d.call("GET", s+"/history", "")["events"].([]any) {
			if e := e.(document); e["type"] == "run.started" {
				runs = append(runs, e["run"])
			}
		}
		require.Len(d, runs, 2)
		first, second := runs[0].(string), runs[1].(string)
		for _, query := range []string{"after=" + first, "before=" + second} {
			fork, _ := d.call("POST", s+"/fork?"+query, "")["sessionId"].(string)
			types, _ := d.history("/copilot/session/"+fork, "")
			assert.Equal(d, 1, strings.Count(types, "run.started"), types)
		}
		listed := d.call("GET", "/copilot/session", "")["sessions"].([]any)[0].(document)
		assert.Equal(d, document{"sessionId": strings.TrimPrefix(s, "/copilot/session/"), "title": "two"}, listed["forkedFrom"])
		code, _ := d.status("POST", s+"/fork?after=none", "")
		assert.Equal(d, 404, code)
		for _, text := range []string{"", "edited"} {
			resent := d.call("POST", s+"/resend/"+second, text)
			synctest.Wait()
			copied, _ := resent["sessionId"].(string)
			assert.NotEqual(d, second, resent["run"])
			page := d.call("GET", "/copilot/session/"+copied+"/history", "")
			assert.Contains(d, fmt.Sprint(page), cmp.Or(text, "two"))
			assert.Equal(d, text == "", strings.Contains(fmt.Sprint(page["events"]), "text:two"))
		}
	})
}

func TestTextsAreFoundInAllSessions(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		s := d.echoed("a needle in hay")
		d.echoed("nothing but hay")
		d.settle()
		d.restart()
		found, _ := d.call("GET", "/copilot/search?q=needle", "")["results"].([]any)
		require.Len(d, found, 2, "the prompt and its echo")
		hit, _ := found[1].(document)
		assert.Equal(d, s, "/copilot/session/"+hit["sessionId"].(string))
		assert.Equal(d, []any{"prompt", 3.0}, []any{hit["kind"], hit["number"]})
		assert.Equal(d, "a needle in hay", hit["snippet"])
		assert.Equal(d, []any{[]any{2.0, 8.0}}, hit["hits"])
		assert.Contains(d, hit, "title")
		one, _ := d.call("GET", "/copilot/search?q=hay&limit=1", "")["results"].([]any)
		assert.Len(d, one, 1)
		assert.Equal(d, document{"results": []any{}}, d.call("GET", "/copilot/search?q=nowhere", ""))
		for query, want := range map[string]string{"": "name a word", "q=x&limit=x": "a non-negative integer"} {
			code, fault := d.status("GET", "/copilot/search?"+query, "")
			assert.Equal(d, 400, code)
			assert.Contains(d, fault, want)
		}
	})
}

func TestSearchNeedsStore(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		code, fault := a.status("GET", "/copilot/search?q=x", "")
		assert.Equal(a, 503, code)
		assert.Contains(a, fault, "not stored")
	})
}

func TestListOfSessionsIsPaged(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		var want []any
		for range 5 {
			s := d.echoed("x")
			d.call("POST", s+"/stop", "")
			d.settle()
			want = append([]any{strings.TrimPrefix(s, "/copilot/session/")}, want...)
		}
		d.restart()
		var got []any
		for after := ""; ; {
			page := d.call("GET", "/copilot/session?limit=2&after="+after, "")
			list, _ := page["sessions"].([]any)
			for _, one := range list {
				got = append(got, one.(document)["sessionId"])
			}
			if after, _ = page["next"].(string); after == "" {
				break
			}
		}
		assert.Equal(d, want, got)
		info := d.listed("/copilot/session/" + want[0].(string))
		changed, err := time.Parse(time.RFC3339, info["changedAt"].(string))
		require.NoError(d, err)
		created, err := time.Parse(time.RFC3339, info["createdAt"].(string))
		require.NoError(d, err)
		assert.True(d, changed.After(created) || changed.Equal(created))
		for query, part := range map[string]string{"after=x": "not a position in the list", "limit=x": "a non-negative integer"} {
			code, fault := d.status("GET", "/copilot/session?"+query, "")
			assert.Equal(d, 400, code)
			assert.Contains(d, fault, part)
		}
	})
}
