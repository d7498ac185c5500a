package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/handlers/ui"
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
		all := jobs.New(jobs.Options{Sessions: p.host, Book: b, Directory: "/"})
		p.agents.Script = func(t *fake.Turn) {
			time.Sleep(time.Second)
			t.UseTool("job_boolean_true", `{"argument": "they fly"}`)
			t.Say("done")
		}
		p.ui = ui.New(ui.Options{Host: p.host, Jobs: all, WorkDir: "/", Version: "1"})
		defer all.Close(p.Context())
		test(p)
	})
}

// herons starts the job and gives its id.
func (u *screen) herons() string {
	u.Helper()
	id, _ := u.ask("portal.jobs.start", document{"name": "herons", "input": "fish"})["job_id"].(string)
	require.NotEmpty(u, id)
	return id
}

// story is what was told of jobs since it was asked for last, a line each.
func (u *screen) story() (list []string) {
	u.Helper()
	for _, f := range u.raw() {
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
	u.heard()
	return list
}

func TestBookIsListed(t *testing.T) {
	withJobs(t, func(p *portal) {
		r := p.able().ask("portal.jobs.list", document{})
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
		u := p.able()
		id := u.herons()
		r := u.ask("portal.job.watch", document{"job_id": id})
		job, _ := r["job"].(document)
		assert.Equal(t, "Running", job["status"])
		assert.Equal(t, "fish", job["input"])
		assert.Len(t, job["works"], 3)
		time.Sleep(time.Hour)
		told := strings.Join(u.story(), "\n")
		for _, part := range []string{"1 ", "work_started", "session_started", "task_succeeded", "session_stopped", "work_stopped", "job_succeeded\nclosed Succeeded"} {
			assert.Contains(t, told, part)
		}
		for i, line := range strings.Split(strings.TrimSuffix(told, "\nclosed Succeeded"), "\n") {
			assert.True(t, strings.HasPrefix(line, fmt.Sprint(i+1, " ")), "%d: %s", i+1, line)
		}
		assert.Equal(t, 2, strings.Count(told[:strings.Index(told, "work_stopped")], "session_started"), "both at the same time")

		u.ask("portal.job.watch", document{"job_id": id})
		assert.Equal(t, told, strings.Join(u.story(), "\n"), "the past is told as it was")
		u.ask("portal.job.watch", document{"job_id": id, "after": 5})
		assert.Equal(t, strings.SplitN(told, "\n", 6)[5], strings.Join(u.story(), "\n"), "behind a number only what follows")
	})
}

func TestJobIsWatchedOnceAndNoLongerThanWanted(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.able()
		id := u.herons()
		u.ask("portal.job.watch", document{"job_id": id})
		before := len(u.story())
		require.NotZero(t, before)
		u.ask("portal.job.watch", document{"job_id": id, "after": before})
		assert.Equal(t, document{"watched": true}, u.ask("portal.job.unwatch", document{"job_id": id}))
		assert.Equal(t, document{"watched": false}, u.ask("portal.job.unwatch", document{"job_id": id}))
		time.Sleep(time.Hour)
		assert.Empty(t, u.story())
	})
}

func TestDetachedUIGetsNothing(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.able()
		u.ask("portal.job.watch", document{"job_id": u.herons()})
		u.ask("portal.jobs.watch", document{})
		close(u.in)
		synctest.Wait() // Serve waits for what it has begun
		select {
		case err := <-u.done:
			require.NoError(t, err)
		default:
			assert.Fail(t, "it is still served")
		}
	})
}

func TestListOfJobsIsWatched(t *testing.T) {
	withJobs(t, func(p *portal) {
		u, other := p.able(), p.able()
		assert.Equal(t, document{"jobs": []any{}}, u.ask("portal.jobs.watch", document{}))
		time.Sleep(time.Minute)
		assert.Empty(t, u.story(), "nothing happens, nothing is told")
		id := other.herons()
		time.Sleep(time.Second)
		assert.Contains(t, u.story(), "herons Running")
		time.Sleep(time.Hour)
		list := u.story()
		require.NotEmpty(t, list)
		assert.Equal(t, "herons Succeeded", list[len(list)-1])
		history, _ := u.ask("portal.jobs.history", document{"limit": 1})["jobs"].([]any)
		require.Len(t, history, 1)
		job, _ := history[0].(document)
		assert.Equal(t, id, job["job_id"])
		assert.NotEmpty(t, job["ended_at"])
	})
}

func TestInputIsCutInLists(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.able()
		u.ask("portal.jobs.start", document{"name": "herons", "input": strings.Repeat("é", 5000)})
		list, _ := u.ask("portal.jobs.history", document{})["jobs"].([]any)
		require.Len(t, list, 1)
		job, _ := list[0].(document)
		assert.Equal(t, strings.Repeat("é", 199)+"…", job["input"])
	})
}

func TestSecretsInTheInputAreNotShown(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.able()
		id, _ := u.ask("portal.jobs.start", document{"name": "herons", "input": "as https://ada:s3cret@example.com says"})["job_id"].(string)
		job, _ := u.ask("portal.job.watch", document{"job_id": id})["job"].(document)
		assert.NotContains(t, job["input"], "s3cret")
		assert.Contains(t, job["input"], "example.com")
	})
}

func TestJobIsCancelledAndContinued(t *testing.T) {
	withJobs(t, func(p *portal) {
		u := p.able()
		id := u.herons()
		u.ask("portal.job.watch", document{"job_id": id})
		assert.Equal(t, -32001, u.ask("portal.job.continue", document{"job_id": id})["code"], "it is at work")
		u.say("portal.job.cancel", document{"job_id": id})
		time.Sleep(time.Minute) // it answers when the sessions have stopped
		told := u.story()
		require.NotEmpty(t, told)
		assert.Equal(t, "closed Canceled", told[len(told)-1])
		assert.Equal(t, -32602, u.ask("portal.job.cancel", document{"job_id": id})["code"], "it has ended")

		next, _ := u.ask("portal.job.continue", document{"job_id": id})["job_id"].(string)
		require.NotEmpty(t, next)
		job, _ := u.ask("portal.job.watch", document{"job_id": next})["job"].(document)
		assert.Equal(t, id, job["continues"])
		time.Sleep(time.Hour)
		told = u.story()
		assert.Equal(t, "closed Succeeded", told[len(told)-1])
	})
}

func TestInvalidJobRequestsAreExplained(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		params document
		code   int
	}{
		"a job without a name":                      {"portal.jobs.start", document{}, -32602},
		"a job that is not in the book":             {"portal.jobs.start", document{"name": "ducks"}, -32602},
		"a job without its input":                   {"portal.jobs.start", document{"name": "herons"}, -32602},
		"a directory that is not absolute":          {"portal.jobs.start", document{"name": "egg", "directory": "here"}, -32602},
		"a directory that is not there":             {"portal.jobs.start", document{"name": "egg", "directory": "/no/such"}, -32602},
		"watching a job without its id":             {"portal.job.watch", document{}, -32602},
		"watching a job that is not there":          {"portal.job.watch", document{"job_id": "x"}, -32602},
		"cancelling a job that is not there":        {"portal.job.cancel", document{"job_id": "x"}, -32602},
		"going on with a job that is not there":     {"portal.job.continue", document{"job_id": "x"}, -32602},
		"a history with less than nothing":          {"portal.jobs.history", document{"limit": -1}, -32602},
		"a history whose limit is not a number":     {"portal.jobs.history", document{"limit": "1"}, -32602},
		"watching from what is not a number":        {"portal.job.watch", document{"job_id": "x", "after": "y"}, -32602},
		"watching no longer what nobody has named":  {"portal.job.unwatch", document{}, -32602},
		"watching from before what was ever there":  {"portal.job.watch", document{"job_id": "x", "after": -1}, -32602},
		"going on with what nobody has named":       {"portal.job.continue", document{}, -32602},
		"cancelling what nobody has named":          {"portal.job.cancel", document{}, -32602},
		"starting with a name that is not a string": {"portal.jobs.start", document{"name": 1}, -32602},
	} {
		t.Run(name, func(t *testing.T) {
			withJobs(t, func(p *portal) {
				r := p.able().ask(test.method, test.params)
				assert.Equal(t, test.code, r["code"], r)
				assert.NotEmpty(t, r["message"])
			})
		})
	}
}

func TestMissingJobsAreReported(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		assert.Equal(t, document{"book": "", "grid": []any{}, "jobs": document{}, "chart": document{}}, u.ask("portal.jobs.list", document{}))
		assert.Equal(t, document{"jobs": []any{}}, u.ask("portal.jobs.watch", document{}))
		assert.Equal(t, document{"jobs": []any{}}, u.ask("portal.jobs.history", document{}))
		for _, method := range []string{"portal.job.watch", "portal.job.cancel", "portal.job.continue"} {
			assert.Equal(t, jobs.ErrJobNotFound.Text, u.ask(method, document{"job_id": "x"})["message"], method)
		}
		assert.Equal(t, jobs.ErrNotInBook.Text, u.ask("portal.jobs.start", document{"name": "x"})["message"])
	})
}
