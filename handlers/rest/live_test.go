package rest_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/rest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// api is the dialect over scripted agents, called without a network.
type api struct {
	*testing.T
	agents  *fake.Agents
	handler http.Handler
}

// inTime runs a test in virtual time.
func inTime(t *testing.T, o copilot.Options, test func(*api)) {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		host := agents.NewHost(o)
		r := gin.New()
		work := newJobs(t, host, nil)
		rest.New(rest.Options{Host: host, Policy: permission.Everywhere(permission.Allow), WorkDir: "/", Stop: func() {}, Jobs: work}).Routes(r)
		defer agents.Close()
		defer host.Close(t.Context())
		defer work.Close(t.Context())
		test(&api{t, agents, r})
	})
}

type document = map[string]any

func (a *api) call(method, path, body string) document {
	a.Helper()
	return a.callAs(a.Context(), method, path, body)
}

// callAs is call for a client that disconnects when ctx ends; it returns nil without an
// answer.
func (a *api) callAs(ctx context.Context, method, path, body string) document {
	a.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
	if w.Body.Len() == 0 {
		return nil
	}
	checkContract(a, method, path, body, w)
	var d document
	require.NoError(a, json.Unmarshal(w.Body.Bytes(), &d), w.Body.String())
	return d
}

// checkContract validates an exchange against spec/openapi.yaml.
func checkContract(tb testing.TB, method, path, body string, w *httptest.ResponseRecorder) {
	tb.Helper()
	contract.Check(tb, contract.Exchange{
		Method: method, Path: "/api" + path, Request: body, Status: w.Code, Type: w.Header().Get("Content-Type"), Response: w.Body.String(),
	})
}

func (a *api) start(query string) (session string) {
	a.Helper()
	d := a.call("POST", "/copilot/session/start/model-a"+query, "/")
	id, ok := d["sessionId"].(string)
	require.True(a, ok, "%v", d)
	return "/copilot/session/" + id
}

// until reads live up to a callback or an error.
func (a *api) until(session, name string) (all []document) {
	a.Helper()
	for {
		d := a.call("GET", session+"/live", "")
		all = append(all, d)
		if d["callback"] == name || d["error"] != nil {
			return all
		}
	}
}

func callbacks(documents []document) string {
	var names []string
	for _, d := range documents {
		name, _ := d["callback"].(string)
		if text, failed := d["sessionError"].(string); failed {
			name = text
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// Callbacks of a run of the echo script, live and in the past.
const (
	echo = "onAgentStart onStartMessage onMessage onMessage onEndMessage onAgentEnd onIdle"
	past = "onUserMessage onAgentStart onStartMessage onEndMessage onAgentEnd onIdle"
)

func TestLiveReturnsResponsesInOrder(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		assert.Empty(a, a.call("POST", s+"/query", "hello there"))
		got := a.until(s, "onIdle")
		assert.Equal(a, echo, callbacks(got))
		assert.Equal(a, "hello ", got[2]["delta"])
	})
}

func TestLiveWithoutEventsTimesOutAfterFiveSeconds(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		begin := time.Now()
		assert.Equal(a, document{"error": "HttpRequestTimeout"}, a.call("GET", s+"/live", ""))
		assert.Equal(a, 5*time.Second, time.Since(begin))
	})
}

func TestFailureBeforeTheFirstQueryIsNotQueued(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		a.agents.Kill()
		synctest.Wait()
		assert.Equal(a, document{"error": "HttpRequestTimeout"}, a.call("GET", s+"/live", ""))
		a.call("POST", s+"/query", "hello there")
		assert.Equal(a, echo, callbacks(a.until(s, "onIdle")))
	})
}

func TestWaitingLiveIsAnsweredByNextQuery(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		answer := make(chan document)
		go func() { answer <- a.call("GET", s+"/live", "") }()
		synctest.Wait()
		a.call("POST", s+"/query", "x")
		assert.Equal(a, "onAgentStart", (<-answer)["callback"])
	})
}

func TestParallelCallIsRejected(t *testing.T) {
	for _, form := range []string{"/live", "/live/token"} {
		t.Run(form, func(t *testing.T) {
			inTime(t, copilot.Options{}, func(a *api) {
				s := a.start("")
				answer := make(chan document)
				go func() { answer <- a.call("GET", s+form, "") }()
				synctest.Wait()
				assert.Equal(a, document{"error": "ParallelCallNotSupported"}, a.call("GET", s+form, ""))
				assert.Equal(a, document{"error": "HttpRequestTimeout"}, <-answer)
			})
		})
	}
}

// lateWriter is a response whose client has it long before the handler goes on, as on a busy machine.
type lateWriter struct {
	*httptest.ResponseRecorder

	sent chan struct{}
}

func (w lateWriter) Flush() {
	close(w.sent)
	<-time.After(time.Second)
}

func TestCallAfterAnAnswerIsNotParallel(t *testing.T) {
	for _, form := range []string{"/live", "/live/token"} {
		t.Run(form, func(t *testing.T) {
			inTime(t, copilot.Options{}, func(a *api) {
				s := a.start("")
				a.call("POST", s+"/query", "hello there")
				w := lateWriter{httptest.NewRecorder(), make(chan struct{})}
				go a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.Context(), "GET", s+form, http.NoBody))
				<-w.sent
				assert.NotEqual(a, document{"error": "ParallelCallNotSupported"}, a.call("GET", s+form, ""))
			})
		})
	}
}

func TestDisconnectedClientLosesNothing(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		client, leave := context.WithCancel(a.Context())
		answer := make(chan document)
		go func() { answer <- a.callAs(client, "GET", s+"/live", "") }()
		synctest.Wait()
		leave()
		a.call("POST", s+"/query", "hello there")
		assert.Equal(a, echo, callbacks(a.until(s, "onIdle")))
		assert.Nil(a, <-answer)
	})
}

// brokenWriter is a connection that fails on write.
type brokenWriter struct{ *httptest.ResponseRecorder }

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestUnwrittenResponseIsRepeated(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		a.call("POST", s+"/query", "hello there")
		synctest.Wait()
		for _, form := range []string{"/live", "/live/token"} {
			a.handler.ServeHTTP(brokenWriter{httptest.NewRecorder()}, httptest.NewRequestWithContext(a.Context(), "GET", s+form, nil))
		}
		assert.Equal(a, echo, callbacks(a.until(s, "onIdle")))
		assert.Equal(a, past, callbacks(a.batch(s+"/live/token")))
	})
}

// batch calls live/{token} once.
func (a *api) batch(path string) (all []document) {
	a.Helper()
	d := a.call("GET", path, "")
	list, ok := d["responses"].([]any)
	require.True(a, ok, "%v", d)
	for _, r := range list {
		one, isDocument := r.(document)
		require.True(a, isDocument)
		all = append(all, one)
	}
	return all
}

func TestTokenGetsWholeTextsOfThePastAndLiveDeltas(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		a.call("POST", s+"/query", "hello there")
		a.until(s, "onIdle")
		assert.Equal(a, past, callbacks(a.batch(s+"/live/one")))
		a.call("POST", s+"/query", "hello again")
		a.until(s, "onIdle")
		assert.Equal(a, "onUserMessage "+echo, callbacks(a.batch(s+"/live/one")))
		assert.Equal(a, past+" "+past, callbacks(a.batch(s+"/live/two")))
	})
}

func TestIntervalJoinsAnswers(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		a.agents.Script = func(t *fake.Turn) {
			t.Emit(event.MessageStarted{ID: "m"})
			for range 100 {
				t.Wait(5 * time.Millisecond)
				t.Emit(event.MessageDelta{ID: "m", Text: "x"})
			}
			t.Emit(event.MessageEnded{ID: "m", Text: strings.Repeat("x", 100)})
		}
		count := func(query string) (calls int, text string) {
			s := a.start("")
			a.call("POST", s+"/query", "go")
			for last := ""; last != "onIdle"; calls++ {
				all := a.batch(s + "/live/reader" + query)
				for _, d := range all {
					if delta, ok := d["delta"].(string); ok {
						text += delta
					}
				}
				last, _ = all[len(all)-1]["callback"].(string)
			}
			return calls, text
		}
		calls, text := count("")
		assert.Equal(a, strings.Repeat("x", 100), text)
		assert.Greater(a, calls, 90)
		calls, text = count("?interval=50")
		assert.Equal(a, strings.Repeat("x", 100), text)
		assert.LessOrEqual(a, calls, 500/50+4)
		for _, wrong := range []string{"-1", "1001", "fast"} {
			assert.Contains(a, a.call("GET", a.start("")+"/live/reader?interval="+wrong, "")["error"], "interval")
		}
	})
}

func TestLongAnswersAreCompressedIfAskedFor(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		long := strings.Repeat("word ", 1000)
		s := a.start("")
		a.call("POST", s+"/query", long)
		a.until(s, "onIdle")
		ask := func(path, accept string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(a.Context(), "GET", path, http.NoBody)
			r.Header.Set("Accept-Encoding", accept)
			a.handler.ServeHTTP(w, r)
			return w
		}
		plain, zipped := ask(s+"/live/one", "identity"), ask(s+"/live/two", "br, gzip")
		assert.Empty(a, plain.Header().Get("Content-Encoding"))
		assert.Equal(a, "gzip", zipped.Header().Get("Content-Encoding"))
		assert.Less(a, zipped.Body.Len()*5, plain.Body.Len())
		in, err := gzip.NewReader(zipped.Body)
		require.NoError(a, err)
		text, err := io.ReadAll(in)
		require.NoError(a, err)
		assert.Equal(a, plain.Body.String(), string(text))
		a.call("POST", s+"/stop", "")
		assert.Empty(a, ask(s+"/live", "gzip").Header().Get("Content-Encoding"), "short")
	})
}

func TestStoppedSessionDrainsToEachReader(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		a.call("POST", s+"/query", "hello there")
		synctest.Wait()
		waiting := make(chan document)
		a.batch(s + "/live/waiting")
		go func() { waiting <- a.call("GET", s+"/live/waiting", "") }()
		synctest.Wait()
		begin := time.Now()
		assert.Equal(a, document{"result": "Closed"}, a.call("POST", s+"/stop", ""))
		assert.Equal(a, document{"error": "SessionClosed"}, <-waiting)
		assert.Zero(a, time.Since(begin))

		got := a.until(s, "nothing")
		assert.Equal(a, echo+" ", callbacks(got))
		assert.Equal(a, "SessionNotFound", got[len(got)-1]["error"])
		a.batch(s + "/live/late")
		assert.Equal(a, document{"error": "SessionClosed"}, a.call("GET", s+"/live/late", ""))
		assert.Equal(a, document{"error": "SessionNotFound"}, a.call("GET", s+"/live/late", ""))

		assert.Empty(a, a.call("POST", s+"/resume", ""))
		a.call("POST", s+"/query", "hello again")
		assert.Equal(a, echo, callbacks(a.until(s, "onIdle")))
		assert.Equal(a, "onUserMessage "+echo, callbacks(a.batch(s+"/live/late")))
	})
}

func TestSlowReaderGetsGap(t *testing.T) {
	inTime(t, copilot.Options{RecordBudget: 4 << 10}, func(a *api) {
		s := a.start("")
		for range 20 {
			a.call("POST", s+"/query", "x")
			synctest.Wait()
		}
		got := a.until(s, "onIdle")
		assert.Regexp(a, `^gap: events 1–\d+ are no longer kept on`, callbacks(got))
		assert.Equal(a, got[0]["sessionError"], a.batch(s + "/live/token")[0]["sessionError"])
		assert.Contains(a, callbacks(a.batch(s+"/live/token")), "onIdle")
	})
}

func TestReaderBehindGapGetsRunEnd(t *testing.T) {
	inTime(t, copilot.Options{RecordBudget: 8 << 10}, func(a *api) {
		s := a.start("")
		a.agents.Script = func(t *fake.Turn) {
			for range 200 {
				t.Say("x")
			}
		}
		a.call("POST", s+"/query", "x")
		synctest.Wait()
		got := a.until(s, "onIdle")
		assert.Regexp(a, `^gap: .* onIdle$`, callbacks(got))
	})
}

func TestLiveContinuesAfterLongPauseAndTokenStartsAgain(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		a.call("POST", s+"/query", "hello there")
		a.until(s, "onIdle")
		a.batch(s + "/live/token")
		time.Sleep(61 * time.Minute) // virtual
		a.call("POST", s+"/query", "hello again")
		assert.Equal(a, echo, callbacks(a.until(s, "onIdle")))
		assert.Equal(a, past+" "+past, callbacks(a.batch(s+"/live/token")))
	})
}

func TestSimpleRoutes(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		assert.Equal(a, document{"repoRoot": "/"}, a.call("GET", "/config", ""))
		assert.Equal(a, document{"message": "Hello, world!"}, a.call("GET", "/test", ""))
		assert.NotEmpty(a, a.call("GET", "/token", "")["token"])
		one := a.call("GET", "/token", "")
		assert.NotEqual(a, one, a.call("GET", "/token", ""))
		assert.Equal(a, document{"models": []any{
			document{"id": "model-a", "name": "Model A", "multiplier": 1.0}, document{"id": "model-b", "name": "Model B", "multiplier": 0.25},
		}}, a.call("GET", "/copilot/models", ""))
		for _, path := range []string{"/config", "/test", "/token", "/stop", "/copilot/models", "/copilot/session", "/copilot/session/x/live"} {
			w := httptest.NewRecorder()
			a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.Context(), "GET", path, nil))
			assert.Equal(a, "no-store", w.Header().Get("Cache-Control"), path)
			assert.Contains(a, w.Header().Get("Content-Type"), "application/json", path)
		}
	})
}

func TestRepositoryRootIsFoundAboveWorkingDirectory(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(root, ".git"), 0o700))
	agents := fake.New()
	defer agents.Close()
	host := agents.NewHost(copilot.Options{})
	defer host.Close(t.Context())
	r := gin.New()
	rest.New(rest.Options{Host: host, WorkDir: filepath.Join(root, "a", "b"), Stop: func() {}}).Routes(r)
	a := &api{t, agents, r}
	assert.Equal(t, document{"repoRoot": root}, a.call("GET", "/config", ""))
	a.call("POST", "/copilot/session/start/", "")
	info, _, err := host.Sessions(t.Context(), "", 0)
	require.NoError(t, err)
	require.Len(t, info, 1)
	assert.Equal(t, root, info[0].Directory, "an empty body means the root, an empty model the first")
	assert.Equal(t, "model-a", info[0].Model)
}

func TestInteractiveSessionOffersQuestions(t *testing.T) {
	for query, want := range map[string]bool{
		"": false, "?permissions=allow": false, "?permissions=deny": false, "?permissions=ask": true,
		"?interactive=true": true, "?permissions=ask&interactive=false": false,
	} {
		inTime(t, copilot.Options{}, func(a *api) {
			offered := make(chan bool, 1)
			a.agents.Script = func(t *fake.Turn) { offered <- t.Opening.AskUser }
			a.call("POST", a.start(query)+"/query", "x")
			assert.Equal(a, want, <-offered, query)
		})
	}
}

func TestAnswersOfTheWrongKindAreRejected(t *testing.T) {
	for body, want := range map[string]string{
		`{"approved":true,"answer":"x"}`:  "approve or deny",
		`{"answer":""}`:                   "empty",
		`{"answer":"x"}`:                  "approve or deny",
		`{"approved":"yes"}`:              "not a JSON object",
		`{"approved":true,"fields":{}}`:   "no fields",
		`{"failed":true,"reason":"late"}`: "tool",
	} {
		inTime(t, copilot.Options{}, func(a *api) {
			a.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{ID: "q", Names: []string{permission.Exec}}) }
			s := a.start("?permissions=ask")
			a.call("POST", s+"/query", "x")
			a.call("GET", s+"/live", "")
			assert.Contains(a, a.call("POST", s+"/answer/q", body)["error"], want)
			assert.Empty(a, a.call("POST", s+"/answer/q", `{"approved":true}`))
		})
	}
}

func TestQuestionIsAnsweredOnceAndDenialReachesAgent(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		answers := make(chan event.Answer, 1)
		a.agents.Script = func(t *fake.Turn) {
			answer, _ := t.Ask(event.Question{ID: "q", Names: []string{permission.Exec}, Title: "Run ls", Detail: "ls"})
			answers <- answer
		}
		s := a.start("?permissions=ask")
		a.call("POST", s+"/query", "x")
		asked := a.call("GET", s+"/live", "")
		assert.Equal(a, document{"callback": "onPermissionRequest", "requestId": "q", "name": "exec.run", "title": "Run ls", "detail": "ls"}, asked)
		assert.Contains(a, a.call("GET", "/copilot/session", "")["sessions"].([]any)[0], "state")

		assert.Equal(a, document{"error": "QuestionNotFound"}, a.call("POST", s+"/answer/other", `{"approved":true}`))
		assert.Empty(a, a.call("POST", s+"/answer/q", `{"approved":false,"reason":"not now"}`))
		assert.Equal(a, document{"error": "AlreadyAnswered"}, a.call("POST", s+"/answer/q", `{"approved":true}`))
		assert.Equal(a, event.Answer{Reason: "not now"}, <-answers)
		assert.Equal(a, document{"callback": "onQuestionAnswered", "requestId": "q", "by": "rest"}, a.call("GET", s+"/live", ""))
	})
}

func TestFormRejectsInvalidValues(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		answers := make(chan event.Answer, 1)
		a.agents.Script = func(t *fake.Turn) {
			answer, _ := t.Ask(event.Question{ID: "q", Kind: event.AskForm, Text: "Who?", Form: &event.Form{Fields: []event.Field{
				{Name: "name", Type: event.FieldText, Required: true}, {Name: "age", Type: event.FieldInteger},
			}}})
			answers <- answer
		}
		s := a.start("?permissions=ask")
		a.call("POST", s+"/query", "x")
		assert.Equal(a, "onFormRequest", a.call("GET", s+"/live", "")["callback"])
		for body, want := range map[string]string{
			`{"approved":true}`: `"name" is missing`,
			`{"approved":true,"fields":{"name":"Ada","age":"old"}}`: `"age"`,
			`{"approved":true,"fields":{"name":"Ada","x":1}}`:       `no field "x"`,
			`{"answer":"Ada"}`: "fields",
		} {
			assert.Contains(a, a.call("POST", s+"/answer/q", body)["error"], want, body)
		}
		assert.Empty(a, a.call("POST", s+"/answer/q", `{"approved":true,"fields":{"name":"Ada","age":36}}`))
		assert.Equal(a, event.Answer{Approved: true, Fields: map[string]any{"name": "Ada", "age": 36.0}}, <-answers)
	})
}

func TestPlanIsApprovedWithOneOfItsChoices(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		answers := make(chan event.Answer, 1)
		a.agents.Script = func(t *fake.Turn) {
			answer, _ := t.AskAlways(event.Question{ID: "q", Kind: event.AskPlan, Text: "# Do", Choices: []string{"interactive", "autopilot"}})
			answers <- answer
		}
		s := a.start("?interactive=true")
		a.call("POST", s+"/query?mode=plan", "x")
		assert.Equal(a, []any{"interactive", "autopilot"}, a.call("GET", s+"/live", "")["choices"])
		for body, want := range map[string]string{
			`{"approved":true,"answer":"fleet"}`: "not among the choices",
			`{"answer":"autopilot"}`:             "approval",
		} {
			assert.Contains(a, a.call("POST", s+"/answer/q", body)["error"], want, body)
		}
		assert.Empty(a, a.call("POST", s+"/answer/q", `{"approved":true,"answer":"autopilot"}`))
		assert.Equal(a, event.Answer{Approved: true, Text: "autopilot"}, <-answers)
	})
}

// callTool is a script that calls a client tool and says its result.
func callTool(t *fake.Turn) {
	answer, _ := t.AskAlways(event.Question{ID: "q", Kind: event.AskTool, Tool: "git.commit"})
	t.Say(answer.Text + answer.Reason)
}

func TestClientToolCallIsHiddenButAnswerable(t *testing.T) {
	for body, want := range map[string]string{`{"answer":"done"}`: "done", `{"failed":true,"reason":"nothing to do"}`: "nothing to do"} {
		inTime(t, copilot.Options{}, func(a *api) {
			a.agents.Script = callTool
			s := a.start("")
			a.call("POST", s+"/query", "x")
			assert.Equal(a, document{"error": "HttpRequestTimeout"}, a.call("GET", s+"/live", ""))
			assert.Contains(a, a.call("POST", s+"/answer/q", `{"approved":true}`)["error"], "result")
			assert.Empty(a, a.call("POST", s+"/answer/q", body))
			got := a.until(s, "onIdle")
			assert.Equal(a, want, got[len(got)-2]["completeContent"])
		})
	}
}

func TestQueryHasModeAndSteering(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		a.agents.Script = func(t *fake.Turn) {
			t.Wait(time.Second)
			if text, ok := t.Steered(); ok {
				t.Say("and " + text)
			}
		}
		s := a.start("")
		assert.Empty(a, a.call("POST", s+"/query?mode=Autopilot&steer=true", "first"), "without a run it is an ordinary prompt")
		synctest.Wait()
		assert.Empty(a, a.call("POST", s+"/query?steer=true", "second"))
		got := a.until(s, "onIdle")
		assert.Equal(a, "and second", got[len(got)-2]["completeContent"])
		sent := a.agents.Calls(fake.Send)
		require.Len(a, sent, 2)
		assert.Equal(a, event.ModeAutopilot, sent[0].Mode)
		assert.Equal(a, []bool{false, true}, []bool{sent[0].Steer, sent[1].Steer})
	})
}

func TestSessionListHasUsage(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		a.agents.Script = func(t *fake.Turn) {
			t.Emit(event.UsageChanged{Used: 10, Limit: 100}, event.ModelCalled{Input: 7, Output: 3}, event.ModelCalled{Input: 1, Output: 1})
		}
		s := a.start("")
		a.call("POST", s+"/query", "x")
		a.until(s, "onIdle")
		list, _ := a.call("GET", "/copilot/session", "")["sessions"].([]any)
		require.Len(a, list, 1)
		session, _ := list[0].(document)
		assert.Equal(a, document{"used": 10.0, "limit": 100.0, "multiplier": 1.0, "inputTokens": 8.0, "outputTokens": 4.0}, session["usage"])
	})
}

func TestUnavailableAgentIsStatus503(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		a.agents.Before = func(context.Context, fake.Call) error { return errors.New("not found; install it") }
		for _, c := range [][2]string{{"GET", "/copilot/models"}, {"POST", "/copilot/session/start/model-a"}} {
			w := httptest.NewRecorder()
			a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.Context(), c[0], c[1], strings.NewReader("/")))
			assert.Equal(a, http.StatusServiceUnavailable, w.Code)
			assert.Contains(a, w.Body.String(), "install it")
		}
	})
}

func TestScopesAreOfferedAndRememberedRulesRevoked(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		a.agents.Script = func(t *fake.Turn) {
			q := event.Question{ID: "q", Title: "Run python", Detail: "python3 x.py"}
			q.SetNeeds(permission.Need{Name: permission.Exec, Target: "python3 x.py", Line: "python3 x.py", Opaque: true})
			_, _ = t.Ask(q)
		}
		s := a.start("?permissions=ask")
		a.call("POST", s+"/query", "x")
		assert.Equal(a, []any{
			document{"kind": "command", "label": "this exact command", "rules": []any{"exec.run(=python3 x.py)"}},
			document{"kind": "commands", "label": "all commands", "rules": []any{"exec.run"}},
		}, a.call("GET", s+"/live", "")["scopes"])
		assert.Contains(a, a.call("POST", s+"/answer/q", `{"approved":true,"scope":"program"}`)["error"], `the scope "program" is not offered`)
		assert.Empty(a, a.call("POST", s+"/answer/q", `{"approved":true,"remember":true,"scope":"commands"}`))
		assert.Equal(a, document{"rules": document{"*": "ask", "exec.run": "allow"}, "remembered": document{"exec.run": "allow"}}, a.call("GET", s+"/permissions", ""))
		for _, body := range []string{`{}`, `{"rule":"x","all":true}`, `no`, `{"rule":"exec.run(ls)"}`} {
			assert.NotEmpty(a, a.call("POST", s+"/revoke", body)["error"], body)
		}
		assert.Empty(a, a.call("POST", s+"/revoke", `{"rule":"exec.run"}`))
		assert.Equal(a, document{}, a.call("GET", s+"/permissions", "")["remembered"])
		assert.Empty(a, a.call("POST", s+"/revoke", `{"all":true}`))
	})
}
