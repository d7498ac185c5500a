package page_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/handlers/page"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

const jobBook = `
models: {driving: ""}
tasks:
  hatch: {prompt: [Hatch.]}
  feed: {prompt: [Feed. $user-input], requireUserInput: true}
  fledge: {prompt: [Fledge.], criteria: {toolExecuted: [job_boolean_true], failureAction: {retryTimes: 0}}}
jobs:
  herons: {work: {kind: Seq, works: [{kind: Par, works: [{kind: Ref, taskId: hatch}, {kind: Ref, taskId: feed}]}, {kind: Ref, taskId: fledge}]}}
  egg: {work: {kind: Ref, taskId: hatch}}
grid: [{keyword: birds, jobs: [{name: Herons, jobName: herons}, null]}]
`

// withJobs is inTime with jobs whose tasks take a second, and fledge succeeds.
func withJobs(t *testing.T, test func(*portal)) {
	t.Helper()
	inTime(t, func(p *portal) {
		b, err := book.Load("birds.yaml", []byte(jobBook))
		require.NoError(t, err)
		all := jobs.New(jobs.Options{Sessions: p.Host, Book: b, Directory: "/"})
		p.Agents.Script = func(t *fake.Turn) {
			time.Sleep(time.Second)
			t.UseTool("job_boolean_true", `{"argument": "they fly"}`)
			t.Say("done")
		}
		p.Serve(uitest.Options{Page: page.Options{Jobs: all}})
		defer all.Close(p.Context())
		test(p)
	})
}

// herons starts the job and returns its id.
func herons(u *screen) string {
	u.Helper()
	id, _ := u.Ask("portal.jobs.start", document{"name": "herons", "input": "fish"})["job_id"].(string)
	require.NotEmpty(u, id)
	return id
}

// story returns the messages about jobs since the last call, a line each.
func story(u *screen) (list []string) {
	u.Helper()
	for _, f := range u.Raw() {
		p, _ := f["params"].(document)
		switch f["method"] {
		case "portal.job.event":
			list = append(list, fmt.Sprint(p["number"], " ", p["type"]))
		case "portal.job.closed":
			job, _ := p["job"].(document)
			list = append(list, fmt.Sprint("closed ", job["status"]))
		case "portal.jobs.changed":
			jobs, _ := p["jobs"].([]any)
			for _, j := range jobs {
				job, _ := j.(document)
				list = append(list, fmt.Sprint(job["name"], " ", job["status"]))
			}
		}
	}
	u.Heard()
	return list
}

func TestBookIsListed(t *testing.T) {
	withJobs(t, func(p *portal) {
		r := p.Able().Ask("portal.jobs.list", document{})
		assert.Equal(t, "birds.yaml", r["book"])
		assert.Equal(t, []any{document{"keyword": "birds", "jobs": []any{document{"name": "Herons", "jobName": "herons"}, nil}}}, r["grid"])
		all, _ := r["jobs"].(document)
		herons, _ := all["herons"].(document)
		assert.Equal(t, true, herons["require_user_input"])
		assert.Contains(t, herons, "work")
		charts, _ := r["chart"].(document)
		drawn, _ := charts["herons"].(document)
		assert.Len(t, drawn["nodes"], 5)
	})
}

func TestJobIsReportedCompletely(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		id := herons(u)
		r := u.Ask("portal.job.watch", document{"job_id": id})
		job, _ := r["job"].(document)
		assert.Equal(t, "Running", job["status"])
		assert.Equal(t, "fish", job["input"])
		assert.Len(t, job["works"], 3)
		drawn, _ := r["chart"].(document)
		assert.Len(t, drawn["nodes"], 5)
		time.Sleep(time.Hour)
		reported := strings.Join(story(u), "\n")
		for _, part := range []string{"1 ", "work_started", "session_started", "task_succeeded", "session_stopped", "work_stopped", "job_succeeded\nclosed Succeeded"} {
			assert.Contains(t, reported, part)
		}
		for i, line := range strings.Split(strings.TrimSuffix(reported, "\nclosed Succeeded"), "\n") {
			assert.True(t, strings.HasPrefix(line, fmt.Sprint(i+1, " ")), "%d: %s", i+1, line)
		}
		assert.Equal(t, 2, strings.Count(reported[:strings.Index(reported, "work_stopped")], "session_started"), "both run at the same time")

		u.Ask("portal.job.watch", document{"job_id": id})
		assert.Equal(t, reported, strings.Join(story(u), "\n"), "the past is reported unchanged")
		u.Ask("portal.job.watch", document{"job_id": id, "after": 5})
		assert.Equal(t, strings.SplitN(reported, "\n", 6)[5], strings.Join(story(u), "\n"), "after a number only what follows")
	})
}

func TestJobIsWatchedOnceUntilUnwatched(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		id := herons(u)
		u.Ask("portal.job.watch", document{"job_id": id})
		before := len(story(u))
		require.NotZero(t, before)
		u.Ask("portal.job.watch", document{"job_id": id, "after": before})
		assert.Equal(t, document{"watched": true}, u.Ask("portal.job.unwatch", document{"job_id": id}))
		assert.Equal(t, document{"watched": false}, u.Ask("portal.job.unwatch", document{"job_id": id}))
		time.Sleep(time.Hour)
		assert.Empty(t, story(u))
	})
}

func TestDetachedUIGetsNothing(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		u.Ask("portal.job.watch", document{"job_id": herons(u)})
		u.Ask("portal.jobs.watch", document{})
		close(u.In)
		synctest.Wait() // Serve waits for what it started
		select {
		case err := <-u.Done:
			require.NoError(t, err)
		default:
			assert.Fail(t, "the connection is still served")
		}
	})
}

func TestListOfJobsIsWatched(t *testing.T) {
	withJobs(t, func(p *portal) {
		u, other := p.Able(), p.Able()
		assert.Equal(t, document{"jobs": []any{}}, u.Ask("portal.jobs.watch", document{}))
		time.Sleep(time.Minute)
		assert.Empty(t, story(u), "no changes, no messages")
		id := herons(other)
		time.Sleep(time.Second)
		assert.Contains(t, story(u), "herons Running")
		time.Sleep(time.Hour)
		list := story(u)
		require.NotEmpty(t, list)
		assert.Equal(t, "herons Succeeded", list[len(list)-1])
		history, _ := u.Ask("portal.jobs.history", document{"limit": 1})["jobs"].([]any)
		require.Len(t, history, 1)
		job, _ := history[0].(document)
		assert.Equal(t, id, job["job_id"])
		assert.NotEmpty(t, job["ended_at"])
	})
}

func TestInputIsCutInLists(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		u.Ask("portal.jobs.start", document{"name": "herons", "input": strings.Repeat("é", 5000)})
		list, _ := u.Ask("portal.jobs.history", document{})["jobs"].([]any)
		require.Len(t, list, 1)
		job, _ := list[0].(document)
		assert.Equal(t, strings.Repeat("é", 199)+"…", job["input"])
	})
}

func TestInputSecretsAreMasked(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		id, _ := u.Ask("portal.jobs.start", document{"name": "herons", "input": "as https://ada:s3cret@example.com says"})["job_id"].(string)
		job, _ := u.Ask("portal.job.watch", document{"job_id": id})["job"].(document)
		assert.NotContains(t, job["input"], "s3cret")
		assert.Contains(t, job["input"], "example.com")
	})
}

func TestRepeatedJobHasItsInputUnmasked(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		id, _ := u.Ask("portal.jobs.start", document{"name": "herons", "input": "as https://ada:s3cret@example.com says"})["job_id"].(string)
		next, _ := u.Ask("portal.job.repeat", document{"job_id": id})["job_id"].(string)
		require.NotEmpty(t, next)
		require.NotEqual(t, id, next)
		time.Sleep(time.Hour)
		asked := 0
		for _, c := range p.Agents.Calls(fake.Send) {
			asked += strings.Count(c.Prompt, "s3cret")
		}
		assert.Equal(t, 2, asked)
	})
}

func TestRepeatedStartReturnsTheFirstJob(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		request := document{"name": "egg", "key": "one"}
		first := u.Ask("portal.jobs.start", request)
		require.NotEmpty(t, first["job_id"])
		assert.Equal(t, first, u.Ask("portal.jobs.start", request), "the response was lost")
		time.Sleep(time.Hour)
		assert.Equal(t, first, p.Able().Ask("portal.jobs.start", request), "also after its end")
		assert.NotEqual(t, first, u.Ask("portal.jobs.start", document{"name": "egg", "key": "two"}))
		history, _ := u.Ask("portal.jobs.history", document{})["jobs"].([]any)
		assert.Len(t, history, 2)
	})
}

func TestListOfJobsIsWatchedUntilUnwatched(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		u.Ask("portal.jobs.watch", document{})
		assert.Equal(t, document{"watched": true}, u.Ask("portal.jobs.unwatch", document{}))
		assert.Equal(t, document{"watched": false}, u.Ask("portal.jobs.unwatch", document{}))
		herons(u)
		time.Sleep(time.Hour)
		assert.Empty(t, story(u))
	})
}

func TestJobIsCancelledAndContinued(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.Able()
		id := herons(u)
		u.Ask("portal.job.watch", document{"job_id": id})
		assert.Equal(t, -32001, u.Ask("portal.job.continue", document{"job_id": id})["code"], "the job is running")
		u.Say("portal.job.cancel", document{"job_id": id})
		time.Sleep(time.Minute) // the answer comes when the sessions have stopped
		reported := story(u)
		require.NotEmpty(t, reported)
		assert.Equal(t, "closed Canceled", reported[len(reported)-1])
		assert.Equal(t, -32602, u.Ask("portal.job.cancel", document{"job_id": id})["code"], "the job has ended")

		next, _ := u.Ask("portal.job.continue", document{"job_id": id})["job_id"].(string)
		require.NotEmpty(t, next)
		job, _ := u.Ask("portal.job.watch", document{"job_id": next})["job"].(document)
		assert.Equal(t, id, job["continues"])
		time.Sleep(time.Hour)
		reported = story(u)
		assert.Equal(t, "closed Succeeded", reported[len(reported)-1])
	})
}

func TestInvalidJobRequestsAreExplained(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		params document
		code   int
	}{
		"a job without a name":                      {"portal.jobs.start", document{}, -32602},
		"a job that the book lacks":                 {"portal.jobs.start", document{"name": "ducks"}, -32602},
		"a job without its input":                   {"portal.jobs.start", document{"name": "herons"}, -32602},
		"a directory that is not absolute":          {"portal.jobs.start", document{"name": "egg", "directory": "here"}, -32602},
		"a missing directory":                       {"portal.jobs.start", document{"name": "egg", "directory": "/no/such"}, -32602},
		"watching a job without its id":             {"portal.job.watch", document{}, -32602},
		"watching an unknown job":                   {"portal.job.watch", document{"job_id": "x"}, -32602},
		"cancelling an unknown job":                 {"portal.job.cancel", document{"job_id": "x"}, -32602},
		"continuing an unknown job":                 {"portal.job.continue", document{"job_id": "x"}, -32602},
		"a history with a negative limit":           {"portal.jobs.history", document{"limit": -1}, -32602},
		"a history whose limit is not a number":     {"portal.jobs.history", document{"limit": "1"}, -32602},
		"watching from what is not a number":        {"portal.job.watch", document{"job_id": "x", "after": "y"}, -32602},
		"unwatching without an id":                  {"portal.job.unwatch", document{}, -32602},
		"watching from a negative number":           {"portal.job.watch", document{"job_id": "x", "after": -1}, -32602},
		"repeating without an id":                   {"portal.job.repeat", document{}, -32602},
		"repeating an unknown job":                  {"portal.job.repeat", document{"job_id": "x"}, -32602},
		"continuing without an id":                  {"portal.job.continue", document{}, -32602},
		"cancelling without an id":                  {"portal.job.cancel", document{}, -32602},
		"starting with a name that is not a string": {"portal.jobs.start", document{"name": 1}, -32602},
	} {
		t.Run(name, func(t *testing.T) {
			withJobs(t, func(p *portal) {
				r := p.Able().Ask(test.method, test.params)
				assert.Equal(t, test.code, r["code"], r)
				assert.NotEmpty(t, r["message"])
			})
		})
	}
}

func TestMissingJobsAreReported(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		assert.Equal(t, document{"book": "", "grid": []any{}, "jobs": document{}, "chart": document{}}, u.Ask("portal.jobs.list", document{}))
		assert.Equal(t, document{"jobs": []any{}}, u.Ask("portal.jobs.watch", document{}))
		assert.Equal(t, document{"jobs": []any{}}, u.Ask("portal.jobs.history", document{}))
		for _, method := range []string{"portal.job.watch", "portal.job.cancel", "portal.job.continue", "portal.job.repeat"} {
			assert.Equal(t, jobs.ErrJobNotFound.Text, u.Ask(method, document{"job_id": "x"})["message"], method)
		}
		assert.Equal(t, jobs.ErrNotInBook.Text, u.Ask("portal.jobs.start", document{"name": "x"})["message"])
	})
}
