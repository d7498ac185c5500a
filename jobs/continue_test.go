package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/jobs"
)

// continueJob continues a job to its end.
func (p *portal) continueJob(j *jobs.Job) (*jobs.Job, []jobs.Event) {
	p.t.Helper()
	next, err := p.host.Continue(context.Background(), j.ID())
	require.NoError(p.t, err)
	assert.Equal(p.t, j.ID(), next.Info().Continues)
	return next, all(p.t, next)
}

// A process that has just started continues a job of a dead one, also where only the heartbeat tells that it is dead.
func TestJobOfSilentPortalIsContinuedAtOnce(t *testing.T) {
	onMachine(t, "where only its heartbeat tells", func(m *machine) {
		first := m.open(withWork(seq(ref("a"), ref("b"))), answers(alwaysYes, reactions(hang, yes), nil, nil))
		j := first.start("j")
		wait(5 * time.Second)
		first.kill()
		m.write("UPDATE owner SET host = 'elsewhere', beat = 0")
		second := m.open(withWork(seq(ref("a"), ref("b"))), nil)
		defer second.stop()
		next, _ := second.continueJob(second.job(j.ID()))
		assert.Equal(m.t, jobs.Succeeded, next.Info().Status)
	})
}

func TestContinueJob(t *testing.T) {
	until := func(body string) string {
		return "{kind: Loop, body: " + body + ", postCondition: [false, " + ref("c") + "], maxIterations: 3}"
	}
	times := func(n int, do, then func(*fake.Turn)) []func(*fake.Turn) {
		var list []func(*fake.Turn)
		for range n {
			list = append(list, do)
		}
		return append(list, then)
	}
	for _, tt := range []struct {
		name  string
		work  string
		agent script
		sent  []string // prompts that each job sends; the first is the original
		last  jobs.Status
	}{
		{
			"does not repeat what succeeded", seq(ref("a"), ref("b"), ref("d")), answers(alwaysYes, reactions(no, yes), nil, alwaysYes),
			[]string{"a b", "b d"},
			jobs.Succeeded,
		},
		{
			"repeats what crashed", seq(ref("a"), ref("b")), answers(alwaysYes, times(5, crash, yes), nil, nil),
			[]string{"a b b b b b", "b"},
			jobs.Succeeded,
		},
		{
			"may happen repeatedly", seq(ref("a"), ref("b"), ref("d")), answers(alwaysYes, reactions(no, no, yes), nil, reactions(no, yes)),
			[]string{"a b", "b", "b d", "d"},
			jobs.Succeeded,
		},
		{
			"repeats only failed parallel works", par(ref("a"), ref("b"), seq(ref("d"), ref("d"))), answers(reactions(no, yes), alwaysYes, nil, reactions(yes, no, yes)),
			[]string{"a b d d", "a d"},
			jobs.Succeeded,
		},
		{
			"keeps an answer of no", seq("{kind: Alt, condition: "+ref("c")+", trueWork: "+ref("a")+", falseWork: "+ref("b")+"}", ref("d")),
			answers(alwaysYes, alwaysYes, reactions(no, yes), reactions(no, yes)),
			[]string{"c b d", "d"},
			jobs.Succeeded,
		},
		{
			"repeats a condition that crashed", "{kind: Alt, condition: " + ref("c") + ", trueWork: " + ref("a") + "}",
			answers(alwaysYes, nil, times(5, crash, yes), nil),
			[]string{"c c c c c", "c a"},
			jobs.Succeeded,
		},
		{
			"resumes a loop in the failed round", until(seq(ref("a"), ref("b"))),
			answers(alwaysYes, reactions(yes, no, yes), reactions(no, yes), nil),
			[]string{"a b c a b", "b c"},
			jobs.Succeeded,
		},
		{
			"counts earlier rounds", until(ref("a")), answers(reactions(yes, no, yes), nil, alwaysNo, nil),
			[]string{"a c a", "a c a c"},
			jobs.Failed,
		},
		{
			"grants a loop at its limit the same number of rounds", until(ref("a")), answers(alwaysYes, nil, times(4, no, yes), nil),
			[]string{"a c a c a c", "a c a c"},
			jobs.Succeeded,
		},
		{
			"grants rounds each time", until(ref("a")), answers(times(4, yes, crash), nil, alwaysNo, nil),
			[]string{"a c a c a c", "a c a a a a a", "a a a a a"},
			jobs.Failed,
		},
	} {
		for _, keeps := range []bool{false, true} {
			onMachine(t, fmt.Sprintf("%s (stored: %v)", tt.name, keeps), func(m *machine) {
				p := m.either(keeps, withWork(tt.work), tt.agent)
				defer p.stop()
				j, _ := p.do("j")
				seen := 0
				for i, want := range tt.sent {
					if i > 0 {
						assert.Equal(m.t, jobs.Failed, j.Info().Status)
						j, _ = p.continueJob(j)
					}
					all := m.sent()
					assert.Equal(m.t, want, letters(all[seen:], strings.Contains(tt.work, "Par")), "job %d", i)
					seen = len(all)
				}
				assert.Equal(m.t, tt.last, j.Info().Status)
				if tt.last == jobs.Succeeded {
					for _, work := range j.Info().Works {
						assert.NotEqual(m.t, jobs.Running, work.Status)
					}
					_, err := p.host.Continue(context.Background(), j.ID())
					require.ErrorIs(m.t, err, jobs.ErrJobDone)
				}
			})
		}
	}
}

// letters returns the tasks of the prompts, sorted if their order is random.
func letters(sent []string, sorted bool) string {
	var list []string
	for _, s := range sent {
		list = append(list, s[len(s)-1:])
	}
	if sorted {
		slices.Sort(list)
	}
	return strings.Join(list, " ")
}

func TestRunningJobCannotBeContinued(t *testing.T) {
	inMemory(t, "but a cancelled one can", withWork(seq(ref("a"), ref("b"))), answers(alwaysYes, reactions(hang, yes), nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		_, err := p.host.Continue(context.Background(), j.ID())
		require.ErrorIs(p.t, err, jobs.ErrJobRuns)
		_, err = p.host.Continue(context.Background(), "nobody")
		require.ErrorIs(p.t, err, jobs.ErrJobNotFound)
		require.NoError(p.t, j.Cancel(context.Background()))
		next, events := p.continueJob(j)
		assert.Equal(p.t, jobs.Succeeded, next.Info().Status)
		assert.Equal(p.t, []string{"begins 2", "ends 2 Succeeded", "begins 3", "ends 3 Succeeded", "jobSucceeded"}, brief(events))
		assert.Equal(p.t, j.Info().Works[0].Task, next.Info().Works[0].Task, "the task of the first job")
		assert.Equal(p.t, 1, next.Info().Sessions)
	})
}

func TestJobIsContinuedOnceAtATime(t *testing.T) {
	inMemory(t, "even after a double click", withWork(ref("a")), answers(reactions(hang, hang, yes), nil, nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		require.NoError(p.t, j.Cancel(context.Background()))
		first, err := p.host.Continue(context.Background(), j.ID())
		require.NoError(p.t, err)
		_, err = p.host.Continue(context.Background(), j.ID())
		require.ErrorIs(p.t, err, jobs.ErrJobRuns)
		wait(time.Second)
		require.NoError(p.t, first.Cancel(context.Background()))
		again, _ := p.continueJob(j)
		assert.Equal(p.t, jobs.Succeeded, again.Info().Status)
	})
}

func TestWorkOfJobIsContinuedOnceAtATime(t *testing.T) {
	inMemory(t, "also through other jobs", withWork(ref("a")), answers(reactions(hang), nil, nil, nil), func(p *portal) {
		next := func(of *jobs.Job) *jobs.Job {
			j, err := p.host.Continue(context.Background(), of.ID())
			require.NoError(p.t, err)
			wait(time.Second)
			return j
		}
		ended := func(j *jobs.Job) *jobs.Job {
			require.NoError(p.t, j.Cancel(context.Background()))
			return j
		}
		first := p.start("j")
		wait(time.Second)
		second := ended(next(ended(first)))
		third := next(second)
		_, err := p.host.Continue(context.Background(), first.ID())
		require.ErrorIs(p.t, err, jobs.ErrJobRuns)
		require.ErrorContains(p.t, err, third.ID())
		ended(third)
		fourth := next(first)
		for _, j := range []*jobs.Job{first, second, third} {
			_, err := p.host.Continue(context.Background(), j.ID())
			require.ErrorIs(p.t, err, jobs.ErrJobRuns)
			require.ErrorContains(p.t, err, fourth.ID())
		}
	})
}

func TestOneOfManyCallersContinuesJob(t *testing.T) {
	inMemory(t, "at the same time", withWork(ref("a")), answers(reactions(hang), nil, nil, nil), func(p *portal) {
		for range 20 {
			j := p.start("j")
			wait(time.Second)
			require.NoError(p.t, j.Cancel(context.Background()))
			var next, refused atomic.Int32
			var callers sync.WaitGroup
			for range 100 {
				callers.Go(func() {
					_, err := p.host.Continue(context.Background(), j.ID())
					if err == nil {
						next.Add(1)
					} else if assert.ErrorIs(p.t, err, jobs.ErrJobRuns) {
						refused.Add(1)
					}
				})
			}
			callers.Wait()
			assert.EqualValues(p.t, 1, next.Load())
			assert.EqualValues(p.t, 99, refused.Load())
		}
	})
}

func TestOneOfTwoCallersThatWaitForTheStoreContinuesJob(t *testing.T) {
	stored(t, "which another program locks", withWork(ref("a")), answers(reactions(hang), nil, nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		require.NoError(p.t, j.Cancel(context.Background()))
		db := p.database("&_txlock=immediate")
		tx, err := db.BeginTx(context.Background(), nil)
		require.NoError(p.t, err)
		var errs [2]error
		var callers sync.WaitGroup
		for i := range errs {
			callers.Go(func() { _, errs[i] = p.host.Continue(context.Background(), j.ID()) })
			wait(time.Second)
		}
		require.NoError(p.t, tx.Rollback())
		require.NoError(p.t, db.Close())
		callers.Wait()
		started := slices.Index(errs[:], nil)
		require.GreaterOrEqual(p.t, started, 0)
		require.ErrorIs(p.t, errs[1-started], jobs.ErrJobRuns)
	})
}

func TestJobContinuesInOnePortalAtATime(t *testing.T) {
	onMachine(t, "of those on one data directory", func(m *machine) {
		first := m.open(withWork(ref("a")), answers(reactions(hang, hang, yes), nil, nil, nil))
		defer first.stop()
		second := m.open(withWork(ref("a")), nil)
		defer second.stop()
		j := first.start("j")
		wait(time.Second)
		require.NoError(m.t, j.Cancel(context.Background()))
		next, err := first.host.Continue(context.Background(), j.ID())
		require.NoError(m.t, err)
		_, err = second.host.Continue(context.Background(), j.ID())
		require.ErrorIs(m.t, err, jobs.ErrJobRuns)
		wait(time.Second) // else it may be cancelled before it has asked the model
		require.NoError(m.t, next.Cancel(context.Background()))
		again, _ := second.continueJob(j)
		assert.Equal(m.t, jobs.Succeeded, again.Info().Status)
	})
	onMachine(t, "of two that are asked at the same time", func(m *machine) {
		first := m.open(withWork(ref("a")), answers(reactions(hang), nil, nil, nil))
		defer first.stop()
		second := m.open(withWork(ref("a")), nil)
		defer second.stop()
		for range 20 {
			j := first.start("j")
			wait(time.Second)
			require.NoError(m.t, j.Cancel(context.Background()))
			var next [2]*jobs.Job
			var errs [2]error
			var callers sync.WaitGroup
			for i, p := range []*portal{first, second} {
				callers.Go(func() { next[i], errs[i] = p.host.Continue(context.Background(), j.ID()) })
			}
			callers.Wait()
			started := slices.IndexFunc(errs[:], func(err error) bool { return err == nil })
			require.GreaterOrEqual(m.t, started, 0)
			require.ErrorIs(m.t, errs[1-started], jobs.ErrJobRuns)
			require.NoError(m.t, next[started].Cancel(context.Background()))
		}
	})
	onMachine(t, "unless that was killed", func(m *machine) {
		first := m.open(withWork(ref("a")), answers(reactions(hang, hang, yes), nil, nil, nil))
		j := first.start("j")
		wait(time.Second)
		require.NoError(m.t, j.Cancel(context.Background()))
		_, err := first.host.Continue(context.Background(), j.ID())
		require.NoError(m.t, err)
		wait(time.Second)
		first.kill()
		second := m.open(withWork(ref("a")), nil)
		defer second.stop()
		again, _ := second.continueJob(j)
		assert.Equal(m.t, jobs.Succeeded, again.Info().Status)
	})
}

func TestJobIsContinuedWithItsOwnBook(t *testing.T) {
	onMachine(t, "after a restart", func(m *machine) {
		p := m.open(withWork(seq(ref("a"), ref("b"))), answers(alwaysYes, alwaysNo, nil, nil))
		j, _ := p.do("j")
		p.stop()
		p = m.open(oneTask(plainTask), answers(alwaysYes, alwaysYes, nil, nil))
		defer p.stop()
		next, events := p.continueJob(j)
		assert.Equal(m.t, []string{"begins 2", "ends 2 Succeeded", "begins 3", "ends 3 Succeeded", "jobSucceeded"}, brief(events))
		assert.Equal(m.t, "the input", next.Info().Input)
		assert.Equal(m.t, m.project, next.Info().Directory)
	})
}
