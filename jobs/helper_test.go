package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

// machine is the environment of portals: agents, a data directory, a project.
type machine struct {
	t       *testing.T
	agents  *fake.Agents
	data    string
	project string
	sockets string // directory for calls between portals, "": they cannot call each other
}

// portal is a process on a machine.
type portal struct {
	*machine

	store    *store.Store // nil: ephemeral
	sessions *copilot.Host
	host     *jobs.Host
	dead     atomic.Bool
}

// onMachine runs a test in virtual time. All goroutines must end; otherwise the bubble panics.
func onMachine(t *testing.T, name string, test func(*machine)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		data, project := t.TempDir(), t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			m := &machine{t: t, agents: fake.New(), data: data, project: project}
			defer m.agents.Close()
			test(m)
		})
	})
}

// inMemory is onMachine with one portal without a store.
func inMemory(t *testing.T, name, text string, s script, test func(*portal)) {
	t.Helper()
	onMachine(t, name, func(m *machine) {
		p := m.portal(nil, text, s)
		defer p.stop()
		test(p)
	})
}

// stored is onMachine with one portal and a store.
func stored(t *testing.T, name, text string, s script, test func(*portal)) {
	t.Helper()
	onMachine(t, name, func(m *machine) {
		p := m.open(text, s)
		defer p.stop()
		test(p)
	})
}

// open starts a portal with a store.
func (m *machine) open(text string, s script, with ...func(*jobs.Options)) *portal {
	m.t.Helper()
	st, err := store.Open(context.Background(), store.Options{Directory: m.data, Busy: 20 * time.Millisecond})
	require.NoError(m.t, err)
	return m.portal(st, text, s, with...)
}

func (m *machine) portal(st *store.Store, text string, s script, with ...func(*jobs.Options)) *portal {
	m.t.Helper()
	b, err := book.Load("jobs.yaml", []byte(text))
	require.NoError(m.t, err)
	if s != nil {
		m.agents.Script = s.play()
	}
	p := &portal{machine: m, store: st}
	p.sessions = copilot.NewHost(copilot.Options{Store: st, Launch: p.launch, Health: m.agents.Health, Sockets: m.sockets})
	o := jobs.Options{Sessions: p.sessions, Book: b, Store: st, Directory: m.project}
	for _, change := range with {
		change(&o)
	}
	p.host = jobs.New(o)
	return p
}

func (p *portal) launch(ctx context.Context) (agent.Agent, error) {
	if p.dead.Load() {
		return nil, errors.New("the portal was killed")
	}
	return p.agents.Launch(ctx)
}

// stop ends the portal gracefully.
func (p *portal) stop() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p.host.Close(ctx)
	p.sessions.Close(ctx)
	if p.store != nil && !p.dead.Load() {
		require.NoError(p.t, p.store.Close())
	}
}

// kill ends the portal and its agents like kill -9.
func (p *portal) kill() {
	p.t.Helper()
	p.dead.Store(true)
	require.NoError(p.t, p.store.Kill())
	p.agents.Kill()
	p.host.Close(context.Background()) // no one sees the results
	p.sessions.Close(context.Background())
}

// script maps the start of a prompt's last line to reactions, one for each such prompt; the last one repeats.
type script map[string][]func(*fake.Turn)

func (s script) play() func(*fake.Turn) {
	var mu sync.Mutex
	times := map[string]int{}
	return func(t *fake.Turn) {
		lines := strings.Split(t.Prompt, "\n")
		last := lines[len(lines)-1]
		for key, reactions := range s {
			if !strings.HasPrefix(last, key) {
				continue
			}
			mu.Lock()
			n := times[key]
			times[key]++
			mu.Unlock()
			reactions[min(n, len(reactions)-1)](t)
			return
		}
		t.Say("Done.")
	}
}

// reactions lists reactions.
func reactions(list ...func(*fake.Turn)) []func(*fake.Turn) { return list }

func call(tool, argument string) func(*fake.Turn) {
	text, _ := json.Marshal(map[string]string{"argument": argument})
	return func(t *fake.Turn) { t.UseTool(tool, string(text)) }
}

var (
	yes   = call(book.BooleanTrue, "it is good")
	no    = call(book.BooleanFalse, "it is bad")
	ready = call(book.PrepareDocument, "notes.md")
	never = call(book.PrerequisiteFailed, "there is no compiler")
)

func crash(t *fake.Turn) {
	t.Emit(event.SessionError{Kind: fault.Unavailable, Text: "the model is gone"})
}

func nothing(t *fake.Turn) { t.Say("Well.") }

func hang(t *fake.Turn) { t.WaitForAbort() }

func waits(d time.Duration) func(*fake.Turn) {
	return func(t *fake.Turn) { t.Wait(d) }
}

func inOrder(list ...func(*fake.Turn)) func(*fake.Turn) {
	return func(t *fake.Turn) {
		for _, do := range list {
			do(t)
		}
	}
}

// start starts a job.
func (p *portal) start(name string) *jobs.Job {
	p.t.Helper()
	j, err := p.host.StartJob(context.Background(), jobs.JobRequest{Name: name, Input: "the input"})
	require.NoError(p.t, err)
	return j
}

// do runs a job from start to end.
func (p *portal) do(name string) (*jobs.Job, []jobs.Event) {
	p.t.Helper()
	j := p.start(name)
	return j, all(p.t, j)
}

type eventReader interface {
	Next(ctx context.Context, after uint64, limit int) ([]jobs.Event, error)
}

// rest reads the events after a number, to the end.
func rest(t *testing.T, r eventReader, after uint64) (list []jobs.Event) {
	t.Helper()
	for {
		some, err := r.Next(context.Background(), after, 0)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		require.NotEmpty(t, some)
		for _, e := range some {
			after++
			require.Equal(t, after, e.Number)
		}
		list = append(list, some...)
	}
}

// all reads a job to its end and checks its invariants.
func all(t *testing.T, j *jobs.Job) []jobs.Event {
	t.Helper()
	list := rest(t, j, 0)
	check(t, j, list)
	return list
}

// check checks what holds for all ended jobs.
func check(t *testing.T, j *jobs.Job, list []jobs.Event) {
	t.Helper()
	require.NotEmpty(t, list)
	running, sessions, decided := map[string]int{}, map[string]bool{}, map[string]bool{}
	for i, e := range list {
		switch b := e.Body.(type) {
		case jobs.WorkStarted:
			running[fmt.Sprint(b.Work)]++
		case jobs.WorkStopped:
			running[fmt.Sprint(b.Work)]--
		case jobs.WorkEvent:
			switch s := b.Body.(type) {
			case jobs.TaskDecision:
				decided[b.Task] = true
			case jobs.TaskSucceeded, jobs.TaskFailed:
				assert.True(t, decided[b.Task], "a decision precedes each end of a task")
			case jobs.TaskSessionStarted:
				assert.False(t, sessions[s.Session], "a session starts once")
				sessions[s.Session] = true
			case jobs.TaskSessionStopped:
				assert.True(t, sessions[s.Session], "a session starts before it stops")
				sessions[s.Session] = false
			}
		}
		assert.Equal(t, i == len(list)-1, isEnd(e.Body), "only the last event is final: %#v", e.Body)
	}
	for work, n := range running {
		assert.Zero(t, n, "work %s has started as often as ended", work)
	}
	for s, open := range sessions {
		assert.False(t, open, s)
	}
	info := j.Info()
	assert.True(t, info.Status.Ended())
	assert.EqualValues(t, len(list), info.Events)
	assert.True(t, info.Ended.Equal(list[len(list)-1].Time))
	assert.Equal(t, len(sessions), info.Sessions)
}

func isEnd(b jobs.Body) bool {
	switch b.(type) {
	case jobs.JobSucceeded, jobs.JobFailed, jobs.JobCanceled, jobs.JobInterrupted:
		return true
	}
	return false
}

// story describes events, one line each, without decisions that only repeat how a task ended. Letters stand for
// sessions, in order of appearance.
func story(list []jobs.Event) (lines []string) {
	names := map[string]string{}
	for _, e := range list {
		if !isVerdict(e.Body) {
			lines = append(lines, sentence(names, e.Body))
		}
	}
	return lines
}

func isVerdict(body jobs.Body) bool {
	switch b := body.(type) {
	case jobs.WorkEvent:
		return isVerdict(b.Body)
	case jobs.TaskDecision:
		for _, begin := range []string{"The agent has ", "The task has failed: ", "The portal "} {
			if strings.HasPrefix(b.Reason, begin) {
				return true
			}
		}
	}
	return false
}

func sentence(names map[string]string, body jobs.Body) string {
	switch b := body.(type) {
	case jobs.WorkEvent:
		return fmt.Sprintf("  %d %s", b.Work, sentence(names, b.Body))
	case jobs.TaskSessionStarted:
		names[b.Session] = string(rune('A' + len(names)))
		if b.Checks {
			return "drives " + names[b.Session]
		}
		return "opens " + names[b.Session]
	case jobs.TaskSessionStopped:
		if !b.Succeeded {
			return "breaks " + names[b.Session]
		}
		return "closes " + names[b.Session]
	case jobs.TaskDecision:
		return b.Reason
	case jobs.TaskError:
		return "error: " + b.Error
	case jobs.JobError:
		return "job error: " + b.Error
	case jobs.WorkStarted:
		return fmt.Sprintf("begins %d", b.Work)
	case jobs.WorkStopped:
		return fmt.Sprintf("ends %d %s", b.Work, b.Status)
	}
	return jobs.Name(body)
}

// brief is story without the events of tasks.
func brief(list []jobs.Event) (lines []string) {
	for _, line := range story(list) {
		if !strings.HasPrefix(line, "  ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// sent lists the prompts that agents received, with the model.
func (m *machine) sent() (list []string) {
	models := map[string]string{}
	for _, c := range m.agents.Calls(fake.Open, fake.Send) {
		if c.Method == fake.Open {
			models[c.Session] = c.Opening.Model
			continue
		}
		list = append(list, models[c.Session]+": "+c.Prompt)
	}
	return list
}

// wait lets virtual time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// openSessions counts the sessions that are not closed.
func (p *portal) openSessions() (n int) {
	p.t.Helper()
	list, _, err := p.sessions.Sessions(context.Background(), "", 0)
	require.NoError(p.t, err)
	for _, s := range list {
		if s.State != copilot.StateClosed {
			n++
		}
	}
	return n
}
