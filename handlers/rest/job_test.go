package rest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/rest"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

// The book of these tests. For the prompt "hang", the agent says nothing until it is stopped; see [hanging].
const bookText = `
models: {driving: model-a}
tasks:
  quick: {prompt: [quick]}
  write: {prompt: [write about $user-input], requireUserInput: true}
  hang: {prompt: [hang]}
  prove: {prompt: [prove], criteria: {toolExecuted: [job_prepare_document], failureAction: {retryTimes: 0}}}
jobs:
  quick: {work: {kind: Ref, taskId: quick}}
  notes: {work: {kind: Ref, taskId: write}}
  slow: {work: {kind: Seq, works: [{kind: Ref, taskId: quick}, {kind: Ref, taskId: hang}]}}
  prove: {work: {kind: Ref, taskId: prove}}
grid:
  - {keyword: all, jobs: [{name: Quick, jobName: quick}, null]}
`

func newJobs(tb testing.TB, host *copilot.Host, kept *store.Store) *jobs.Host {
	tb.Helper()
	b, err := book.Load("jobs.yaml", []byte(bookText))
	require.NoError(tb, err)
	return jobs.New(jobs.Options{Sessions: host, Book: b, Store: kept, Directory: "/"})
}

func hanging(t *fake.Turn) {
	if strings.Contains(t.Prompt, "hang") {
		t.WaitForAbort()
		return
	}
	t.Say("Done.")
}

// begin starts a job and returns its path.
func (a *api) begin(name, body string) (path string) {
	a.Helper()
	d := a.call("POST", "/copilot/job/start/"+name, body)
	id, ok := d["jobId"].(string)
	require.True(a, ok, "%v", d)
	return "/copilot/job/" + id
}

// story reads live of a job or task up to an error and returns the callbacks.
func (a *api) story(path string) string {
	a.Helper()
	var names []string
	for _, d := range a.until(path, "") {
		for _, key := range []string{"callback", "error", "jobError", "taskError"} {
			if text, ok := d[key].(string); ok {
				names = append(names, text)
			}
		}
	}
	return strings.Join(names, " ")
}

func TestBookIsListedWithItsChart(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		assert.Equal(a, document{"tasks": []any{
			document{"name": "hang", "requireUserInput": false},
			document{"name": "prove", "requireUserInput": false},
			document{"name": "quick", "requireUserInput": false},
			document{"name": "write", "requireUserInput": true},
		}}, a.call("GET", "/copilot/task", ""))
		d := a.call("GET", "/copilot/job", "")
		assert.Equal(a, []any{document{"keyword": "all", "jobs": []any{document{"name": "Quick", "jobName": "quick"}, nil}}}, d["grid"])
		all, _ := d["jobs"].(document)
		assert.Equal(a, document{
			"requireUserInput": true, "work": document{"kind": "Ref", "workIdInJob": 1.0, "taskId": "write"},
		}, all["notes"])
		chart, _ := d["chart"].(document)
		require.Len(a, chart, 4)
		assert.Equal(a, document{"nodes": []any{
			document{"id": 1.0, "hint": []any{"TaskNode", 1.0}, "label": "quick", "arrows": []any{}},
		}}, chart["quick"])
	})
}

func TestJobDoesNotShowCredentials(t *testing.T) {
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	inTime(t, copilot.Options{}, func(a *api) {
		j := a.begin("notes", "/\nuse "+token)
		assert.Equal(a, "use ghp_…masked", a.call("GET", j+"/status", "")["userInput"])
	})
}

func TestLiveReportsAJobCompletely(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		j := a.begin("notes", "/\nlines, \n  and more\n")
		synctest.Wait()
		for _, form := range []string{"/live", "/live/one"} {
			first := a.call("GET", j+form, "")
			if form == "/live/one" {
				list, _ := first["responses"].([]any)
				require.Len(a, list, 3)
				first, _ = list[0].(document)
				assert.Equal(a, document{"callback": "jobSucceeded"}, list[2])
			}
			assert.Equal(a, "workStarted", first["callback"])
			assert.EqualValues(a, 1, first["workId"])
			assert.NotEmpty(a, first["taskId"])
		}
		assert.Equal(a, "workStopped jobSucceeded JobClosed", a.story(j))
		assert.Equal(a, document{"error": "JobClosed"}, a.call("GET", j+"/live/one", ""))
		for _, form := range []string{"/live", "/live/one"} {
			assert.Equal(a, document{"error": "JobNotFound"}, a.call("GET", j+form, ""))
		}
		status := a.call("GET", j+"/status", "")
		assert.Equal(a, "Succeeded", status["status"])
		assert.Equal(a, "notes", status["jobName"])
		assert.Equal(a, "lines, \n  and more", status["userInput"])
		tasks, _ := status["tasks"].([]any)
		require.Len(a, tasks, 1)
		work, _ := tasks[0].(document)
		task, _ := work["taskId"].(string)
		assert.Equal(a, document{"workIdInJob": 1.0, "taskId": task, "taskName": "write", "status": "Succeeded", "rounds": 1.0, "reason": "The agent has answered the prompt."}, work)
		assert.Equal(a, "The agent has answered the prompt.", status["reason"])

		assert.Equal(a, "taskSessionStarted taskDecision taskSessionStopped taskSucceeded TaskClosed", a.story("/copilot/task/"+task))
		assert.Equal(a, document{"error": "TaskNotFound"}, a.call("GET", "/copilot/task/"+task+"/live", ""))
		info := a.call("GET", "/copilot/task/"+task+"/status", "")
		sessions, _ := info["sessions"].([]any)
		require.Len(a, sessions, 1)
		session, _ := sessions[0].(document)
		assert.Equal(a, true, session["isDriving"], "the only one")
		assert.Equal(a, "The agent has answered the prompt.", info["reason"])
		for _, stamp := range []any{info["startTime"], info["endTime"], status["startTime"], status["endTime"]} {
			assert.Regexp(a, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, stamp)
		}
		id, _ := session["sessionId"].(string)
		got := a.until("/copilot/session/"+id, "")
		assert.Equal(a, document{"callback": "onGeneratedUserPrompt", "prompt": "write about lines, \n  and more"}, got[0])
		list := a.batch("/copilot/session/" + id + "/live/one")
		assert.Contains(a, list, got[0])
		assert.NotContains(a, callbacks(list), "onUserMessage")
	})
}

func TestLiveOfJobsBehavesAsForSessions(t *testing.T) {
	for _, form := range []string{"/live", "/live/one"} {
		inTime(t, copilot.Options{}, func(a *api) {
			a.agents.Script = hanging
			j := a.begin("slow", "")
			synctest.Wait()
			for range 10 {
				if a.call("GET", j+form, "")["error"] != nil {
					break
				}
			}
			begin := time.Now()
			answer := make(chan document)
			go func() { answer <- a.call("GET", j+form, "") }()
			synctest.Wait()
			assert.Equal(a, document{"error": "ParallelCallNotSupported"}, a.call("GET", j+form, ""))
			assert.Equal(a, document{"error": "HttpRequestTimeout"}, <-answer)
			assert.Equal(a, 5*time.Second, time.Since(begin))
			go func() { answer <- a.call("GET", j+form, "") }()
			synctest.Wait()
			a.handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(a.Context(), "POST", j+"/stop", nil))
			assert.NotContains(a, <-answer, "error", "a waiting call is answered by the next event")
		})
	}
}

func TestUnwrittenJobResponseIsRepeated(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		j := a.begin("quick", "")
		synctest.Wait()
		for _, form := range []string{"/live", "/live/one"} {
			a.handler.ServeHTTP(brokenWriter{httptest.NewRecorder()}, httptest.NewRequestWithContext(a.Context(), "GET", j+form, nil))
		}
		assert.Equal(a, "workStarted workStopped jobSucceeded JobClosed", a.story(j))
		assert.Equal(a, "workStarted workStopped jobSucceeded", callbacks(a.batch(j+"/live/one")))
	})
}

func TestJobIsStopped(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		inTime(t, copilot.Options{}, func(a *api) {
			a.agents.Script = hanging
			j := a.begin("slow", "")
			synctest.Wait()
			running, _ := a.call("GET", "/copilot/job/running", "")["jobs"].([]any)
			require.Len(a, running, 1)
			status := a.call("GET", j+"/status", "")
			tasks, _ := status["tasks"].([]any)
			hang, _ := tasks[1].(document)
			task, _ := hang["taskId"].(string)
			assert.Equal(a, document{"error": "TaskCannotClose"}, a.call("POST", "/copilot/task/"+task+"/stop", ""))

			assert.Equal(a, document{"result": "Closed"}, a.call(method, j+"/stop", ""))
			assert.Equal(a, document{"error": "JobClosed"}, a.call(method, j+"/stop", ""))
			assert.Equal(a, "workStarted workStopped workStarted workStopped jobCanceled JobClosed", a.story(j))
			recent, _ := a.call("GET", "/copilot/job/running", "")["jobs"].([]any)
			require.Len(a, recent, 1)
			ended, _ := recent[0].(document)
			assert.Equal(a, "Canceled", ended["status"], "it stays for an hour")
			assert.Equal(a, "Canceled", a.call("GET", j+"/status", "")["status"])

			a.agents.Script = nil
			time.Sleep(time.Second)
			again := a.call("POST", j+"/continue", "")
			id, _ := again["jobId"].(string)
			synctest.Wait()
			next := a.call("GET", "/copilot/job/"+id+"/status", "")
			assert.Equal(a, "Succeeded", next["status"])
			assert.Equal(a, strings.TrimPrefix(j, "/copilot/job/"), next["continues"])
			assert.EqualValues(a, 1, next["sessions"], "only unfinished work is repeated")
			assert.Equal(a, "workStarted workStopped workStarted workStopped jobSucceeded JobClosed", a.story("/copilot/job/"+id))
			history, _ := a.call("GET", "/copilot/job/history?limit=1", "")["jobs"].([]any)
			require.Len(a, history, 1)
			newest, _ := history[0].(document)
			assert.Equal(a, id, newest["jobId"])
			code, fault := a.status("POST", "/copilot/job/"+id+"/continue", "")
			assert.Equal(a, http.StatusBadRequest, code)
			assert.Contains(a, fault, "nothing is left to do")
		})
	}
}

func TestTaskRunsInExistingSession(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		s := a.start("")
		d := a.call("POST", "/copilot/task/start/write/session/"+strings.TrimPrefix(s, "/copilot/session/"), "birds")
		id, ok := d["taskId"].(string)
		require.True(a, ok, "%v", d)
		synctest.Wait()
		got := a.until(s, "onIdle")
		assert.Equal(a, document{"callback": "onGeneratedUserPrompt", "prompt": "write about birds"}, got[0])
		assert.Equal(a, document{"error": "TaskClosed"}, a.call("POST", "/copilot/task/"+id+"/stop", ""))
		assert.True(a, strings.HasSuffix(a.story("/copilot/task/"+id), "taskSucceeded TaskClosed"))
	})
}

func TestTaskByItselfIsStopped(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		a.agents.Script = hanging
		s := a.start("")
		d := a.call("POST", "/copilot/task/start/hang/session/"+strings.TrimPrefix(s, "/copilot/session/"), "")
		id, _ := d["taskId"].(string)
		synctest.Wait()
		assert.Equal(a, document{"result": "Closed"}, a.call("GET", "/copilot/task/"+id+"/stop", ""))
	})
}

func TestFailedJobIsReported(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		j := a.begin("prove", "")
		assert.Equal(a, "workStarted workStopped jobFailed JobClosed", a.story(j))
		assert.Equal(a, "Failed", a.call("GET", j+"/status", "")["status"])
	})
}

func TestFailedStartIsExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		method, path, body string
		code               int
		fault              string
	}{
		"a job that the book lacks":             {"POST", "job/start/none", "", 200, "JobNotFound"},
		"an unknown task in an unknown session": {"POST", "task/start/none/session/x", "", 200, "SessionNotFound"},
		"a task in an unknown session":          {"POST", "task/start/quick/session/x", "", 200, "SessionNotFound"},
		"a job without required input":          {"POST", "job/start/notes", "/\n \n", 400, "user input is required"},
		"a relative directory":                  {"POST", "job/start/quick", "tmp", 200, "WorkingDirectoryNotAbsolutePath"},
		"a missing directory":                   {"POST", "job/start/quick", "/no/where", 200, "WorkingDirectoryNotExists"},
		"a body that is not text":               {"POST", "job/start/quick", "\xff", 400, "UTF-8"},
		"an unknown job":                        {"GET", "job/none/status", "", 200, "JobNotFound"},
		"live of an unknown job":                {"GET", "job/none/live", "", 200, "JobNotFound"},
		"stopping an unknown job":               {"POST", "job/none/stop", "", 200, "JobNotFound"},
		"continuing an unknown job":             {"POST", "job/none/continue", "", 200, "JobNotFound"},
		"an unknown task":                       {"GET", "task/none/live/one", "", 200, "TaskNotFound"},
		"stopping an unknown task":              {"GET", "task/none/stop", "", 200, "TaskNotFound"},
		"an invalid limit":                      {"GET", "job/history?limit=x", "", 400, "limit"},
		"an id with a NUL":                      {"GET", "job/a%00b/status", "", 200, "JobNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, copilot.Options{}, func(a *api) {
				code, fault := a.status(tc.method, "/copilot/"+tc.path, tc.body)
				assert.Equal(a, tc.code, code)
				assert.Contains(a, fault, tc.fault)
			})
		})
	}
}

func TestInterruptedJobEndsWithErrorAndCanBeContinued(t *testing.T) {
	stored(t, copilot.Options{}, func(d *durable) {
		d.agents.Script = hanging
		j := d.begin("slow", "")
		synctest.Wait()
		d.settle()
		d.restart()
		story := d.story(j)
		assert.Regexp(d, `^workStarted workStopped workStarted workStopped [^J]+ JobClosed$`, story)
		assert.NotContains(d, story, "jobFailed")
		var last document
		for _, r := range d.batch(j + "/live/one") {
			last = r
		}
		assert.NotEmpty(d, last["jobError"])
		d.agents.Script = nil
		id, _ := d.call("POST", j+"/continue", "")["jobId"].(string)
		assert.Equal(d, "workStarted workStopped workStarted workStopped jobSucceeded JobClosed", d.story("/copilot/job/"+id))
		assert.EqualValues(d, 1, d.call("GET", "/copilot/job/"+id+"/status", "")["sessions"])
	})
}

func TestFaultyBookDisablesStartsOnly(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		host := agents.NewHost(copilot.Options{})
		work := jobs.New(jobs.Options{Sessions: host, Book: &book.Book{}, Directory: "/"})
		defer agents.Close()
		defer host.Close(t.Context())
		defer work.Close(t.Context())
		r := gin.New()
		fault := fault.Errorf(fault.Unavailable, "the job book cannot be used: jobs.yaml:3: tasks.t: is invalid")
		rest.New(rest.Options{Host: host, WorkDir: "/", Jobs: work, BookFault: fault}).Routes(r)
		a := &api{t, agents, r}
		for _, call := range [][2]string{{"GET", "job"}, {"GET", "task"}, {"POST", "job/start/understand"}, {"POST", "task/start/x/session/y"}} {
			code, text := a.status(call[0], "/copilot/"+call[1], "")
			assert.Equal(t, http.StatusServiceUnavailable, code)
			assert.Contains(t, text, "jobs.yaml:3")
		}
		assert.Equal(t, document{"jobs": []any{}}, a.call("GET", "/copilot/job/history", ""), "past jobs can be read")
	})
}

func TestEachJobEventHasItsCallback(t *testing.T) {
	for want, body := range map[string]jobs.Body{
		`{"callback":"taskSessionStarted","sessionId":"s","isDriving":true}`:               jobs.TaskSessionStarted{Session: "s", Driving: true},
		`{"callback":"taskSessionStopped","sessionId":"s","succeeded":false}`:              jobs.TaskSessionStopped{Session: "s"},
		`{"callback":"taskDecision","reason":"a < b"}`:                                     jobs.TaskDecision{Reason: "a < b"},
		`{"callback":"taskSucceeded"}`:                                                     jobs.TaskSucceeded{},
		`{"callback":"taskFailed"}`:                                                        jobs.TaskFailed{},
		`{"taskError":"broken"}`:                                                           jobs.TaskError{Error: "broken"},
		`{"callback":"workStarted","workId":1,"taskId":"t"}`:                               jobs.WorkStarted{Work: 1, Task: "t"},
		`{"callback":"workStopped","workId":1,"succeeded":true,"status":"Succeeded"}`:      jobs.WorkStopped{Work: 1, Succeeded: true, Status: jobs.Succeeded},
		`{"callback":"jobSucceeded"}`:                                                      jobs.JobSucceeded{},
		`{"callback":"jobFailed"}`:                                                         jobs.JobFailed{},
		`{"callback":"jobCanceled"}`:                                                       jobs.JobCanceled{},
		`{"jobError":"broken"}`:                                                            jobs.JobError{Error: "broken"},
		`{"jobError":"the portal ended in the middle of the job, which can be continued"}`: jobs.JobInterrupted{},
		"":           jobs.WorkEvent{Body: jobs.TaskSucceeded{}},
		"the second": nil,
	} {
		if want == "the second" {
			assert.Empty(t, rest.EncodeJobs(jobs.JobError{Error: "first"}, jobs.JobInterrupted{})[1], "one error is enough")
			continue
		}
		assert.Equal(t, want, rest.EncodeJobs(body)[0])
	}
}
