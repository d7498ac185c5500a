package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/jobs"
)

// goOn continues a job to its end.
func (p *portal) goOn(j *jobs.Job) (*jobs.Job, []jobs.Event) {
	p.t.Helper()
	next, err := p.host.Continue(context.Background(), j.ID())
	require.NoError(p.t, err)
	assert.Equal(p.t, j.ID(), next.Info().Continues)
	return next, all(p.t, next)
}

func TestContinuingAJob(t *testing.T) {
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
		lives []string // the prompts that each job sent; the first is the job itself
		last  jobs.Status
	}{
		{
			"does not do again what succeeded", seq(ref("a"), ref("b"), ref("d")), answers(always, does(no, yes), nil, always),
			[]string{"a b", "b d"},
			jobs.Succeeded,
		},
		{
			"does again what broke down", seq(ref("a"), ref("b")), answers(always, times(5, crash, yes), nil, nil),
			[]string{"a b b b b b", "b"},
			jobs.Succeeded,
		},
		{
			"may be done again and again", seq(ref("a"), ref("b"), ref("d")), answers(always, does(no, no, yes), nil, does(no, yes)),
			[]string{"a b", "b", "b d", "d"},
			jobs.Succeeded,
		},
		{
			"does of parallel works those that failed", par(ref("a"), ref("b"), seq(ref("d"), ref("d"))), answers(does(no, yes), always, nil, does(yes, no, yes)),
			[]string{"a b d d", "a d"},
			jobs.Succeeded,
		},
		{
			"keeps a no that was an answer", seq("{kind: Alt, condition: "+ref("c")+", trueWork: "+ref("a")+", falseWork: "+ref("b")+"}", ref("d")),
			answers(always, always, does(no, yes), does(no, yes)),
			[]string{"c b d", "d"},
			jobs.Succeeded,
		},
		{
			"asks a condition again that broke down", "{kind: Alt, condition: " + ref("c") + ", trueWork: " + ref("a") + "}",
			answers(always, nil, times(5, crash, yes), nil),
			[]string{"c c c c c", "c a"},
			jobs.Succeeded,
		},
		{
			"goes on in the round of a loop in which it failed", until(seq(ref("a"), ref("b"))),
			answers(always, does(yes, no, yes), does(no, yes), nil),
			[]string{"a b c a b", "b c"},
			jobs.Succeeded,
		},
		{
			"counts the rounds that were done before", until(ref("a")), answers(does(yes, no, yes), nil, nay, nil),
			[]string{"a c a", "a c a c"},
			jobs.Failed,
		},
		{
			"gives a loop that came to its limit as many rounds again", until(ref("a")), answers(always, nil, times(4, no, yes), nil),
			[]string{"a c a c a c", "a c a c"},
			jobs.Succeeded,
		},
		{
			"gives them again and again", until(ref("a")), answers(times(4, yes, crash), nil, nay, nil),
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
				for i, want := range tt.lives {
					if i > 0 {
						assert.Equal(m.t, jobs.Failed, j.Info().Status)
						j, _ = p.goOn(j)
					}
					all := m.sent()
					assert.Equal(m.t, want, letters(all[seen:], strings.Contains(tt.work, "Par")), "life %d", i)
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

// letters are the tasks that prompts are of. Those at the same time have no order.
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

func TestJobThatRunsIsNotContinued(t *testing.T) {
	ephemerally(t, "but one that was cancelled is", withWork(seq(ref("a"), ref("b"))), answers(always, does(hang, yes), nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		_, err := p.host.Continue(context.Background(), j.ID())
		require.ErrorIs(p.t, err, jobs.ErrJobRuns)
		_, err = p.host.Continue(context.Background(), "nobody")
		require.ErrorIs(p.t, err, jobs.ErrJobNotFound)
		require.NoError(p.t, j.Cancel(context.Background()))
		next, events := p.goOn(j)
		assert.Equal(p.t, jobs.Succeeded, next.Info().Status)
		assert.Equal(p.t, []string{"begins 2", "ends 2 Succeeded", "begins 3", "ends 3 Succeeded", "jobSucceeded"}, brief(events))
		assert.Equal(p.t, j.Info().Works[0].Task, next.Info().Works[0].Task, "the task that did it")
		assert.Equal(p.t, 1, next.Info().Sessions)
	})
}

func TestJobIsContinuedByOneAtATime(t *testing.T) {
	ephemerally(t, "so a double click starts one", withWork(ref("a")), answers(does(hang, hang, yes), nil, nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		require.NoError(p.t, j.Cancel(context.Background()))
		first, err := p.host.Continue(context.Background(), j.ID())
		require.NoError(p.t, err)
		_, err = p.host.Continue(context.Background(), j.ID())
		require.ErrorIs(p.t, err, jobs.ErrJobRuns)
		wait(time.Second)
		require.NoError(p.t, first.Cancel(context.Background()))
		again, _ := p.goOn(j)
		assert.Equal(p.t, jobs.Succeeded, again.Info().Status)
	})
}

func TestJobIsContinuedWithItsOwnBook(t *testing.T) {
	onMachine(t, "in another life", func(m *machine) {
		p := m.open(withWork(seq(ref("a"), ref("b"))), answers(always, nay, nil, nil))
		j, _ := p.do("j")
		p.stop()
		p = m.open(oneTask(plainTask), answers(always, always, nil, nil))
		defer p.stop()
		next, events := p.goOn(j)
		assert.Equal(m.t, []string{"begins 2", "ends 2 Succeeded", "begins 3", "ends 3 Succeeded", "jobSucceeded"}, brief(events))
		assert.Equal(m.t, "the input", next.Info().Input)
		assert.Equal(m.t, m.project, next.Info().Directory)
	})
}
