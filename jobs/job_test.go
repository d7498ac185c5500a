package jobs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs"
)

// withWork returns a book with tasks a to d, of which c is a question to the agent, and one job "j".
func withWork(work string) string {
	task := func(name string) string {
		return fmt.Sprintf("  %s: {prompt: [do %s], criteria: {toolExecuted: [job_boolean_true], failureAction: {retryTimes: 0}}}\n", name, name)
	}
	return "models: {driving: model-a}\ntasks:\n" + task("a") + task("b") + task("c") + task("d") +
		"  input: {prompt: [$user-input], requireUserInput: true}\n" +
		"jobs:\n  j: {work: " + work + "}\n  needs: {work: {kind: Ref, taskId: input}}\n"
}

func ref(task string) string { return "{kind: Ref, taskId: " + task + "}" }

func seq(works ...string) string { return "{kind: Seq, works: [" + strings.Join(works, ", ") + "]}" }

func par(works ...string) string { return "{kind: Par, works: [" + strings.Join(works, ", ") + "]}" }

// answers are the agent's reactions to the tasks.
func answers(a, b, c, d []func(*fake.Turn)) script {
	return script{"do a": a, "do b": b, "do c": c, "do d": d}
}

var (
	alwaysYes = reactions(yes)
	alwaysNo  = reactions(no)
)

func TestJob(t *testing.T) {
	loop := func(conditions string) string {
		return "{kind: Loop, body: " + ref("a") + ", " + conditions + ", maxIterations: 3}"
	}
	alt := func(branches string) string { return "{kind: Alt, condition: " + ref("c") + ", " + branches + "}" }
	broken := reactions(crash)
	for _, tt := range []struct {
		name  string
		work  string
		agent script
		story string
	}{
		{
			"runs a sequence in order", seq(ref("a"), ref("b")), answers(alwaysYes, alwaysYes, nil, nil),
			"begins 2, ends 2 Succeeded, begins 3, ends 3 Succeeded, jobSucceeded",
		},
		{
			"ends a sequence at the first failure", seq(ref("a"), ref("b")), answers(alwaysNo, alwaysYes, nil, nil),
			"begins 2, ends 2 Failed, jobFailed",
		},
		{
			"runs parallel works at the same time", par(ref("a"), ref("b")),
			answers(reactions(inOrder(waits(2*time.Second), yes)), reactions(inOrder(waits(time.Second), yes)), nil, nil),
			"begins 2, begins 3, ends 3 Succeeded, ends 2 Succeeded, jobSucceeded",
		},
		{
			"waits for parallel works even if one fails", par(ref("a"), ref("b")),
			answers(reactions(inOrder(waits(time.Second), no)), reactions(inOrder(waits(2*time.Second), yes)), nil, nil),
			"begins 2, begins 3, ends 2 Failed, ends 3 Succeeded, jobFailed",
		},
		{
			"checks a loop before each round", loop("preCondition: [true, " + ref("c") + "]"), answers(alwaysYes, nil, reactions(yes, no), nil),
			"begins 2, ends 2 Succeeded, begins 3, ends 3 Succeeded, begins 2, ends 2 Failed, jobSucceeded",
		},
		{
			"checks a loop after each round", loop("postCondition: [false, " + ref("c") + "]"), answers(alwaysYes, nil, reactions(no, yes), nil),
			"begins 3, ends 3 Succeeded, begins 2, ends 2 Failed, begins 3, ends 3 Succeeded, begins 2, ends 2 Succeeded, jobSucceeded",
		},
		{
			"fails when a loop needs too many rounds", loop("postCondition: [false, " + ref("c") + "]"), answers(alwaysYes, nil, alwaysNo, nil),
			strings.Repeat("begins 3, ends 3 Succeeded, begins 2, ends 2 Failed, ", 3) +
				"job error: the loop (work 1) did not end within 3 rounds, its maximum, jobFailed",
		},
		{
			"checks once more before that failure", loop("preCondition: [true, " + ref("c") + "]"), answers(alwaysYes, nil, reactions(yes, yes, yes, no), nil),
			strings.Repeat("begins 2, ends 2 Succeeded, begins 3, ends 3 Succeeded, ", 3) + "begins 2, ends 2 Failed, jobSucceeded",
		},
		{
			"runs a loop without conditions up to its limit", "{kind: Loop, body: " + ref("a") + ", maxIterations: 3}", answers(alwaysYes, nil, nil, nil),
			strings.Repeat("begins 2, ends 2 Succeeded, ", 3) + "jobSucceeded",
		},
		{
			"fails with the body of a loop", loop("postCondition: [false, " + ref("c") + "]"), answers(alwaysNo, nil, alwaysYes, nil),
			"begins 3, ends 3 Failed, jobFailed",
		},
		{
			"takes the true branch", alt("trueWork: " + ref("a") + ", falseWork: " + ref("b")), answers(alwaysYes, alwaysYes, alwaysYes, nil),
			"begins 2, ends 2 Succeeded, begins 3, ends 3 Succeeded, jobSucceeded",
		},
		{
			"takes the false branch", alt("trueWork: " + ref("a") + ", falseWork: " + ref("b")), answers(alwaysYes, alwaysYes, alwaysNo, nil),
			"begins 2, ends 2 Failed, begins 4, ends 4 Succeeded, jobSucceeded",
		},
		{
			"succeeds without the branch", alt("trueWork: " + ref("a")), answers(alwaysYes, alwaysYes, alwaysNo, nil),
			"begins 2, ends 2 Failed, jobSucceeded",
		},
		{
			"fails when a condition crashes", alt("trueWork: " + ref("a")), answers(alwaysYes, alwaysYes, broken, nil),
			"begins 2, ends 2 Failed, job error: c (work 2): gave up after 5 attempts: the model is gone, jobFailed",
		},
	} {
		inMemory(t, tt.name, withWork(tt.work), tt.agent, func(p *portal) {
			j, events := p.do("j")
			got := strings.Join(brief(events), ", ")
			got = strings.Replace(got, "begins 3, begins 2,", "begins 2, begins 3,", 1) // parallel works
			assert.Equal(p.t, tt.story, got)
			assert.Zero(p.t, p.openSessions())
			info := j.Info()
			assert.Equal(p.t, strings.Contains(tt.story, "job error"), info.Error != "")
		})
	}
}

func TestStartJob(t *testing.T) {
	inMemory(t, "rejects invalid requests", withWork(ref("a")), script{"": alwaysYes}, func(p *portal) {
		for _, tt := range []struct {
			request jobs.JobRequest
			err     error
		}{
			{jobs.JobRequest{Name: "x"}, jobs.ErrNotInBook},
			{jobs.JobRequest{Name: "needs"}, jobs.ErrNoInput},
			{jobs.JobRequest{Name: "needs", Input: " \n"}, jobs.ErrNoInput},
			{jobs.JobRequest{Name: "j", Input: strings.Repeat("x", 1<<20+1)}, jobs.ErrLongInput},
			{jobs.JobRequest{Name: "j", Directory: "here"}, fault.ErrDirectoryNotAbsolute},
			{jobs.JobRequest{Name: "j", Directory: p.project + "/none"}, fault.ErrDirectoryNotFound},
		} {
			_, err := p.host.StartJob(context.Background(), tt.request)
			require.ErrorIs(p.t, err, tt.err)
		}
		list, err := p.host.Jobs(context.Background(), 0)
		require.NoError(p.t, err)
		assert.Empty(p.t, list)
	})
	inMemory(t, "lists the job and its end", withWork(ref("a")), script{"do a": reactions(inOrder(waits(time.Minute), yes))}, func(p *portal) {
		n, err := p.host.Changed(context.Background(), 0)
		require.NoError(p.t, err)
		j := p.start("j")
		n, err = p.host.Changed(context.Background(), n)
		require.NoError(p.t, err)
		running, err := p.host.Running(context.Background())
		require.NoError(p.t, err)
		require.Len(p.t, running, 1)
		assert.Equal(p.t, j.ID(), running[0].ID)
		assert.Equal(p.t, jobs.Running, running[0].Status)
		_, err = p.host.Changed(context.Background(), n)
		require.NoError(p.t, err)
		running, err = p.host.Running(context.Background())
		require.NoError(p.t, err)
		assert.Equal(p.t, []jobs.JobInfo{j.Info()}, running, "including a job that has just ended")
		info := j.Info()
		said := "The agent has called job_boolean_true."
		assert.Equal(p.t, []jobs.Progress{{Work: 1, Task: info.Works[0].Task, Name: "a", Status: jobs.Succeeded, Rounds: 1, Reason: said}}, info.Works)
		assert.Equal(p.t, said, info.Reason)
		wait(jobs.ListedAfterEnd - time.Second)
		running, err = p.host.Running(context.Background())
		require.NoError(p.t, err)
		assert.Len(p.t, running, 1)
		wait(time.Second)
		running, err = p.host.Running(context.Background())
		require.NoError(p.t, err)
		assert.Empty(p.t, running, "an hour later")
	})
}

func TestCancelJob(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		onMachine(t, fmt.Sprintf("stops all sessions and opens none (stored: %v)", keeps), func(m *machine) {
			p := m.either(keeps, withWork(par(seq(ref("a"), ref("b")), ref("b"), ref("c"))), answers(reactions(hang), reactions(hang), reactions(crash), nil))
			defer p.stop()
			j := p.start("j")
			wait(2 * time.Second)
			require.NoError(m.t, j.Cancel(context.Background()))
			assert.Equal(m.t, jobs.Canceled, j.Info().Status)
			assert.Zero(m.t, p.openSessions())
			opened := m.agents.Count(fake.Open)
			require.ErrorIs(m.t, j.Cancel(context.Background()), jobs.ErrJobClosed)
			wait(time.Hour)
			assert.Equal(m.t, opened, m.agents.Count(fake.Open))
			lines := brief(all(m.t, j))
			assert.Equal(m.t, "jobCanceled", lines[len(lines)-1])
			for _, work := range j.Info().Works {
				if work.Task == "" {
					continue
				}
				assert.Equal(m.t, jobs.Canceled, work.Status)
				task, err := p.host.Task(context.Background(), work.Task)
				require.NoError(m.t, err)
				assert.Equal(m.t, jobs.Canceled, task.Info().Status)
			}
		})
	}
	inMemory(t, "is the only way to end the job's tasks", withWork(ref("a")), answers(reactions(hang), nil, nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		task, err := p.host.Task(context.Background(), j.Info().Works[0].Task)
		require.NoError(p.t, err)
		require.ErrorIs(p.t, task.Cancel(context.Background()), jobs.ErrTaskOfJob)
	})
}

func TestCloseInterruptsJobs(t *testing.T) {
	stored(t, "and reports it", withWork(seq(ref("a"), ref("b"))), answers(alwaysYes, reactions(hang), nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		p.host.Close(context.Background())
		lines := story(all(p.t, j))
		assert.Equal(p.t, []string{
			"  3 breaks B", "  3 error: The portal was stopped before the work ended.", "  3 taskFailed", "ends 3 Interrupted",
			"job error: The portal was stopped before the work ended.", "jobInterrupted",
		}, lines[len(lines)-6:])
		_, err := p.host.StartJob(context.Background(), jobs.JobRequest{Name: "j"})
		assert.ErrorIs(p.t, err, fault.ErrStopping)
	})
}

func TestJobStartDuringClose(t *testing.T) {
	stored(t, "ends the job before the host is closed", withWork(ref("a")), nil, func(p *portal) {
		db := p.database("&_txlock=immediate")
		tx, err := db.BeginTx(context.Background(), nil)
		require.NoError(p.t, err)
		var j *jobs.Job
		var work sync.WaitGroup
		work.Go(func() { j = p.start("j") }) // waits for the store
		wait(time.Second)
		closed := make(chan struct{})
		work.Go(func() {
			defer close(closed)
			p.host.Close(context.Background())
		})
		wait(time.Second)
		select {
		case <-closed:
			assert.Fail(p.t, "the host closed before the job, whose sessions it could not close")
		default:
		}
		require.NoError(p.t, tx.Rollback())
		require.NoError(p.t, db.Close())
		work.Wait()
		assert.Equal(p.t, jobs.Interrupted, j.Info().Status)
	})
}

func TestCredentialsAreMaskedInJobs(t *testing.T) {
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	inMemory(t, "in the error of a job", withWork(ref("a")), nil, func(p *portal) {
		p.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Open {
				return fault.Errorf(fault.Unavailable, "no answer from https://x:%s@example.org", token)
			}
			return nil
		}
		j, events := p.do("j")
		assert.Contains(p.t, j.Info().Error, "no answer from")
		assert.NotContains(p.t, j.Info().Error, token)
		assert.NotContains(p.t, strings.Join(story(events), "\n"), token)
	})
}

func TestParallelLimitsOpenSessions(t *testing.T) {
	onMachine(t, "of all jobs", func(m *machine) {
		agent := script{"do": reactions(inOrder(waits(time.Minute), yes))}
		p := m.portal(nil, withWork(par(ref("a"), ref("b"), ref("c"))), agent, func(o *jobs.Options) { o.Parallel = 2 })
		defer p.stop()
		first, second := p.start("j"), p.start("j")
		wait(time.Second)
		assert.Equal(m.t, 2, p.openSessions())
		assert.Equal(m.t, 2, m.agents.Count(fake.Open), "waiting tasks have none")
		require.NoError(m.t, first.Cancel(context.Background()), "including waiting tasks")
		all(m.t, second)
		assert.Equal(m.t, jobs.Succeeded, second.Info().Status)
	})
}
