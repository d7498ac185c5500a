package jobs_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs"
)

func (p *portal) job(id string) *jobs.Job {
	p.t.Helper()
	j, err := p.host.Job(context.Background(), id)
	require.NoError(p.t, err)
	return j
}

func (p *portal) task(id string) *jobs.Task {
	p.t.Helper()
	t, err := p.host.Task(context.Background(), id)
	require.NoError(p.t, err)
	return t
}

func TestJobSurvivesRestart(t *testing.T) {
	onMachine(t, "with all its events", func(m *machine) {
		first := m.open(withWork(par(ref("a"), ref("b"))), answers(alwaysYes, alwaysNo, nil, nil))
		j, before := first.do("j")
		tasks := map[string][]jobs.Event{}
		for _, work := range j.Info().Works {
			tasks[work.Task] = rest(m.t, first.task(work.Task), 0)
		}
		first.stop()

		second := m.open(oneTask(plainTask), nil)
		defer second.stop()
		again := second.job(j.ID())
		assert.Equal(m.t, before, all(m.t, again))
		assert.Equal(m.t, j.Info(), again.Info())
		list, err := second.host.Jobs(context.Background(), 0)
		require.NoError(m.t, err)
		assert.Equal(m.t, []jobs.JobInfo{j.Info()}, list)
		for id, events := range tasks {
			assert.Equal(m.t, events, rest(m.t, second.task(id), 0))
			assert.Equal(m.t, j.ID(), second.task(id).Info().Job)
		}
		for after := range uint64(len(before)) + 2 {
			some, err := again.Next(context.Background(), after, 1)
			if after >= uint64(len(before)) {
				require.ErrorIs(m.t, err, io.EOF)
				continue
			}
			require.NoError(m.t, err)
			assert.Equal(m.t, before[after:after+1], some)
		}
	})
}

func TestEndedJobsAreEvicted(t *testing.T) {
	stored(t, "and read from the store", withWork(ref("a")), answers(alwaysYes, nil, nil, nil), func(p *portal) {
		j, events := p.do("j")
		wait(time.Second)
		again := p.job(j.ID())
		assert.NotSame(p.t, j, again)
		assert.Equal(p.t, events, all(p.t, again))
		assert.Equal(p.t, j.Info(), again.Info())
	})
	for _, keeps := range []bool{false, true} {
		onMachine(t, fmt.Sprintf("from the store after the retention (stored: %v)", keeps), func(m *machine) {
			p := m.either(keeps, withWork(ref("a")), answers(alwaysYes, nil, nil, nil), func(o *jobs.Options) { o.Retention = time.Hour })
			defer p.stop()
			j, _ := p.do("j")
			wait(time.Hour - time.Minute)
			require.NotNil(m.t, p.job(j.ID()))
			wait(3 * time.Minute)
			_, err := p.host.Job(context.Background(), j.ID())
			require.ErrorIs(m.t, err, jobs.ErrJobNotFound)
			_, err = p.host.Task(context.Background(), j.Info().Works[0].Task)
			require.ErrorIs(m.t, err, jobs.ErrTaskNotFound)
			list, err := p.host.Jobs(context.Background(), 0)
			require.NoError(m.t, err)
			assert.Empty(m.t, list)
		})
	}
}

func TestJobsOfKilledPortalAreInterrupted(t *testing.T) {
	onMachine(t, "and can be continued", func(m *machine) {
		work := seq(ref("a"), ref("b"))
		first := m.open(withWork(work), answers(alwaysYes, reactions(hang, yes), nil, nil))
		j := first.start("j")
		wait(5 * time.Second)
		task := j.Info().Works[1].Task
		first.kill()

		second := m.open(withWork(work), nil)
		defer second.stop()
		require.NoError(m.t, second.host.Recover(context.Background()))
		require.NoError(m.t, second.host.Recover(context.Background()), "a second call changes nothing")
		again := second.job(j.ID())
		lines := brief(all(m.t, again))
		assert.Equal(m.t, []string{"ends 3 Interrupted", "job error: The portal ended before the work did.", "jobInterrupted"}, lines[len(lines)-3:])
		info := again.Info()
		assert.Equal(m.t, jobs.Interrupted, info.Status)
		assert.Equal(m.t, jobs.Interrupted, info.Works[1].Status)
		assert.Equal(m.t, jobs.Interrupted, second.task(task).Info().Status)
		assert.Equal(m.t, []string{"opens A", "breaks A", "error: The portal ended before the work did.", "taskFailed"}, story(rest(m.t, second.task(task), 0)))
		assert.Zero(m.t, second.openSessions())
		next, events := second.continueJob(again)
		assert.Equal(m.t, jobs.Succeeded, next.Info().Status)
		assert.Equal(m.t, []string{"begins 2", "ends 2 Succeeded", "begins 3", "ends 3 Succeeded", "jobSucceeded"}, brief(events))
	})
	onMachine(t, "and a borrowed session loses the tools of the task", func(m *machine) {
		first := m.open(oneTask(plainTask), script{"work": reactions(hang)})
		s := first.session()
		task := first.borrow(s)
		wait(5 * time.Second)
		first.kill()
		second := m.open(oneTask(plainTask), nil)
		defer second.stop()
		require.NoError(m.t, second.host.Recover(context.Background()))
		assert.Equal(m.t, jobs.Interrupted, second.task(task.ID()).Info().Status)
		again, err := second.sessions.Session(context.Background(), s.ID())
		require.NoError(m.t, err)
		assert.Empty(m.t, again.Tools())
	})
	onMachine(t, "and a borrowed session does not run the prompt of the task, which waited", func(m *machine) {
		agent := script{"busy": reactions(func(t *fake.Turn) {
			t.Ask(event.Question{ID: "q", Kind: event.AskPermission, Names: []string{permission.Exec}, Title: "Run `ls`"})
		})}
		first := m.open(oneTask(plainTask), agent)
		s := first.session()
		_, err := s.Prompt(event.Prompt{Text: "busy"})
		require.NoError(m.t, err)
		first.borrow(s)
		wait(5 * time.Second)
		first.kill()
		second := m.open(oneTask(plainTask), agent)
		defer second.stop()
		require.NoError(m.t, second.host.Recover(context.Background()))
		again, err := second.sessions.Session(context.Background(), s.ID())
		require.NoError(m.t, err)
		require.NoError(m.t, again.Answer("q", event.Answer{Approved: true}, "test"))
		wait(time.Minute)
		assert.Equal(m.t, copilot.StateIdle, again.Info().State)
		assert.Empty(m.t, again.Tools())
	})
}

func TestJobsOfOtherPortalsAreFollowed(t *testing.T) {
	onMachine(t, "and cannot be cancelled", func(m *machine) {
		slow := func(n int) []func(*fake.Turn) {
			return reactions(inOrder(waits(time.Duration(n)*time.Second), yes))
		}
		first := m.open(withWork(seq(ref("a"), ref("b"), ref("d"))), answers(slow(1), slow(5), nil, slow(9)))
		defer first.stop()
		second := m.open(withWork(ref("a")), nil)
		defer second.stop()
		m.agents.Script = answers(slow(1), slow(5), nil, slow(9)).play()
		j := first.start("j")
		there := second.job(j.ID())
		var followed []jobs.Event
		var following sync.WaitGroup
		following.Go(func() { followed = rest(m.t, there, 0) })
		wait(4500 * time.Millisecond)
		assert.Equal(m.t, j.Info(), there.Info(), "also between stored snapshots")
		assert.Equal(m.t, fault.Busy, fault.KindOf(there.Cancel(context.Background())))
		_, err := second.host.Continue(context.Background(), j.ID())
		require.ErrorIs(m.t, err, jobs.ErrJobRuns)
		running, err := second.host.Running(context.Background())
		require.NoError(m.t, err)
		assert.Equal(m.t, []jobs.JobInfo{j.Info()}, running)
		task := second.task(j.Info().Works[1].Task)
		assert.Equal(m.t, jobs.Running, task.Info().Status)
		assert.Len(m.t, rest(m.t, task, 0), 4)
		following.Wait()
		assert.Equal(m.t, all(m.t, j), followed)
		assert.Equal(m.t, j.Info(), there.Info())
		require.ErrorIs(m.t, there.Cancel(context.Background()), jobs.ErrJobClosed)
	})
}

func TestJobIsDrawnAndRepeatedFromItsOwnBook(t *testing.T) {
	onMachine(t, "by a portal with another one", func(m *machine) {
		agent := answers(alwaysYes, alwaysYes, nil, alwaysYes)
		first := m.open(withWork(seq(ref("a"), ref("b"))), agent)
		defer first.stop()
		j, _ := first.do("j")
		second := m.open(oneTask(plainTask), agent)
		defer second.stop()
		nodes, err := second.host.Chart(context.Background(), j.ID())
		require.NoError(m.t, err)
		assert.Equal(m.t, first.host.Book().Chart("j"), nodes)
		again, err := second.host.Repeat(context.Background(), j.ID())
		require.NoError(m.t, err)
		all(m.t, again)
		info := again.Info()
		assert.Equal(m.t, []any{"j", "the input", jobs.Succeeded, 2, ""}, []any{info.Name, info.Input, info.Status, len(info.Works), info.Continues})
		_, err = second.host.Repeat(context.Background(), "nobody")
		require.ErrorIs(m.t, err, jobs.ErrJobNotFound)
	})
}

// database opens the database like another program.
func (m *machine) database(more string) *sql.DB {
	m.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(m.data, "sessions.db")+"?_pragma=busy_timeout(5000)"+more)
	require.NoError(m.t, err)
	return db
}

// write changes the database like another program.
func (m *machine) write(query string) {
	m.t.Helper()
	db := m.database("")
	_, err := db.ExecContext(context.Background(), query)
	require.NoError(m.t, err)
	require.NoError(m.t, db.Close())
}

func TestAdoptedJobIsReadFromStore(t *testing.T) {
	onMachine(t, "and its first portal stops working on it", func(m *machine) {
		agent := answers(alwaysYes, reactions(inOrder(waits(time.Minute), yes)), nil, alwaysYes)
		first := m.open(withWork(seq(ref("a"), ref("b"), ref("d"))), agent)
		j := first.start("j")
		wait(5 * time.Second)
		m.write("UPDATE owner SET start = '1'")
		second := m.open(withWork(ref("a")), nil)
		m.agents.Script = agent.play()
		defer second.stop()
		defer first.stop()
		require.NoError(m.t, second.host.Recover(context.Background()))
		want := rest(m.t, second.job(j.ID()), 0)
		assert.Equal(m.t, want, rest(m.t, j, 0))
		assert.Equal(m.t, jobs.Interrupted, j.Info().Status)
		wait(time.Hour)
		assert.Len(m.t, m.sent(), 2, "the third task did not start")
	})
}

func TestJobIsAlwaysListed(t *testing.T) {
	stored(t, "even while it ends", withWork(ref("a")), answers(alwaysYes, nil, nil, nil), func(p *portal) {
		for range 2 { // large jobs take a while to read
			j, err := p.host.StartJob(context.Background(), jobs.JobRequest{Name: "j", Input: strings.Repeat("x", 1<<20)})
			require.NoError(p.t, err)
			rest(p.t, j, 0)
			time.Sleep(time.Second)
		}
		for range 5 {
			j := p.start("j")
			for ended := false; !ended; {
				ended = j.Info().Status.Ended()
				list, err := p.host.Jobs(context.Background(), 0)
				require.NoError(p.t, err)
				require.True(p.t, slices.ContainsFunc(list, func(i jobs.JobInfo) bool { return i.ID == j.ID() }))
			}
			time.Sleep(time.Second)
		}
	})
}

func TestStoreFailureEndsJob(t *testing.T) {
	stored(t, "which is reported anyway and stored later", withWork(seq(ref("a"), ref("b"))), answers(reactions(inOrder(waits(time.Minute), yes)), nil, nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		db := p.database("&_txlock=immediate")
		tx, err := db.BeginTx(context.Background(), nil)
		require.NoError(p.t, err)
		events := all(p.t, j)
		lines := story(events)
		assert.Contains(p.t, strings.Join(lines, "\n"), "job error: ")
		assert.NotEqual(p.t, jobs.Running, j.Info().Works[0].Status)
		assert.Equal(p.t, "jobFailed", lines[len(lines)-1])
		assert.Equal(p.t, jobs.Failed, j.Info().Status)
		assert.Equal(p.t, events, rest(p.t, p.job(j.ID()), 0), "a new reader gets it, too")
		_, err = p.host.StartJob(context.Background(), jobs.JobRequest{Name: "j"})
		assert.Equal(p.t, fault.Unavailable, fault.KindOf(err), "%v", err)
		require.NoError(p.t, tx.Rollback())
		require.NoError(p.t, db.Close())
		wait(5 * time.Minute)
		again := p.job(j.ID())
		assert.NotSame(p.t, j, again)
		assert.Equal(p.t, events, rest(p.t, again, 0))
		assert.Equal(p.t, j.Info(), again.Info())
	})
	stored(t, "even if the database was emptied", withWork(seq(ref("a"), ref("b"))), answers(reactions(inOrder(waits(time.Minute), yes)), nil, nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		p.write("DELETE FROM activity")
		events := rest(p.t, j, 0)
		assert.Equal(p.t, jobs.Failed, j.Info().Status)
		wait(5 * time.Minute)
		assert.Equal(p.t, events, rest(p.t, p.job(j.ID()), 0), "a later reader gets it, too")
	})
}

func TestJobThatCannotBeStoredDoesNotExist(t *testing.T) {
	stored(t, "and can be started later", withWork(ref("a")), answers(reactions(hang, yes), nil, nil, nil), func(p *portal) {
		j := p.start("j")
		wait(time.Second)
		require.NoError(p.t, j.Cancel(context.Background()))
		p.write("CREATE TRIGGER refuse BEFORE INSERT ON line BEGIN SELECT RAISE(ABORT, 'refused'); END")
		_, err := p.host.StartJob(context.Background(), jobs.JobRequest{Name: "j"})
		assert.Equal(p.t, fault.Unavailable, fault.KindOf(err), "%v", err)
		_, err = p.host.Continue(context.Background(), j.ID())
		assert.Equal(p.t, fault.Unavailable, fault.KindOf(err), "%v", err)
		p.write("DROP TRIGGER refuse")
		list, err := p.host.Jobs(context.Background(), 0)
		require.NoError(p.t, err)
		assert.Equal(p.t, []jobs.JobInfo{j.Info()}, list)
		next, _ := p.continueJob(j)
		assert.Equal(p.t, jobs.Succeeded, next.Info().Status)
	})
}

func TestJobWithManySessions(t *testing.T) {
	agent := answers(reactions(inOrder(waits(time.Second), yes)), reactions(inOrder(waits(3*time.Second), yes)), nil, nil)
	for _, keeps := range []bool{false, true} {
		onMachine(t, fmt.Sprintf("is read completely by every reader (stored: %v)", keeps), func(m *machine) {
			pairs := 150
			if keeps {
				pairs = 30 // the race detector makes the store slow
			}
			tasks := make([]string, pairs)
			for i := range tasks {
				tasks[i] = seq(ref("a"), ref("b"))
			}
			p := m.either(keeps, withWork(par(tasks...)), agent)
			defer p.stop()
			j := p.start("j")
			lists := make([][]jobs.Event, 5)
			var readers sync.WaitGroup
			for i := range lists {
				readers.Go(func() { lists[i] = rest(m.t, p.job(j.ID()), 0) })
			}
			maximum := 0
			for !j.Info().Status.Ended() {
				time.Sleep(1500 * time.Millisecond)
				synctest.Wait()
				maximum = max(maximum, p.openSessions())
			}
			readers.Wait()
			list := all(m.t, j)
			for _, other := range lists {
				assert.Len(m.t, other, len(list))
			}
			assert.Len(m.t, list, 2*pairs*6+1)
			assert.LessOrEqual(m.t, maximum, 30)
			assert.GreaterOrEqual(m.t, maximum, 25)
			assert.Equal(m.t, 2*pairs, j.Info().Sessions)
		})
	}
}
