package copilot_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/permission"
)

// world is a host with scripted agents, in a bubble of its own.
type world struct {
	t         *testing.T
	agents    *fake.Agents
	host      *copilot.Host
	directory string
	sessions  []*copilot.Session // their records are checked at the end

	mu    sync.Mutex
	agent agent.Agent // the last one launched
}

// launch starts a scripted agent.
func (w *world) launch(ctx context.Context) (agent.Agent, error) {
	a, err := w.agents.Launch(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agent = a
	return a, err
}

// awaitDeath returns when the last process has ended.
func (w *world) awaitDeath() {
	w.mu.Lock()
	a := w.agent
	w.mu.Unlock()
	<-a.Done()
}

// inWorld runs a test in a bubble. At its end the host is closed, and all
// goroutines must end; otherwise the bubble panics.
func inWorld(t *testing.T, name string, o copilot.Options, test func(*world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, o, test) })
}

// inBubble is inWorld for repeated tests.
func inBubble(t *testing.T, test func(*world)) {
	t.Helper()
	bubble(t, copilot.Options{}, test)
}

func bubble(t *testing.T, o copilot.Options, test func(*world)) {
	t.Helper()
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		w := &world{t: t, agents: agents, directory: directory}
		o.Launch, o.Health = w.launch, agents.Health
		w.host = copilot.NewHost(o)
		defer agents.Close()
		defer w.close()
		test(w)
	})
}

// listed returns all sessions.
func (w *world) listed() []copilot.Info {
	w.t.Helper()
	list, _, err := w.host.Sessions(w.t.Context(), "", 0)
	require.NoError(w.t, err)
	return list
}

// close ends everything within five seconds and checks the records.
func (w *world) close() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	began := time.Now()
	w.host.Close(ctx)
	assert.LessOrEqual(w.t, time.Since(began), 5*time.Second, "the host does not close in time")
	for _, s := range w.sessions {
		assert.Equal(w.t, copilot.StateClosed, s.Info().State)
		if all, ok := read(w.t, s); ok {
			checkRecord(w.t, all)
		}
	}
}

// start starts a session whose client can answer.
func (w *world) start() *copilot.Session { return w.startWith(nil) }

// startWith starts a session with a policy.
func (w *world) startWith(p permission.Policy) *copilot.Session {
	w.t.Helper()
	s, err := w.host.Start(w.t.Context(), copilot.Start{Origin: "test", Directory: w.directory, Policy: p, AskUser: true})
	require.NoError(w.t, err)
	w.sessions = append(w.sessions, s)
	return s
}

// prompt sends a prompt and returns the id of its run.
func (w *world) prompt(s *copilot.Session, text string) string {
	w.t.Helper()
	run, err := s.Prompt(event.Prompt{Text: text})
	require.NoError(w.t, err)
	return run
}

// run sends a prompt and returns when everything waits.
func (w *world) run(s *copilot.Session, text string) {
	w.t.Helper()
	w.prompt(s, text)
	synctest.Wait()
}

// wait lets virtual time pass.
func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// read reads all entries of a record, without waiting; false if some are
// no longer kept.
func read(t *testing.T, s *copilot.Session) ([]event.Event, bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var all []event.Event
	after := uint64(0)
	for {
		some, err := s.Record().Next(ctx, after, 0)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			return nil, false
		case errors.Is(err, context.Canceled) || errors.Is(err, io.EOF):
			return all, true
		}
		require.NoError(t, err)
		for _, e := range some {
			all = append(all, e.Value)
		}
		after = some[len(some)-1].N
	}
}

func events(t *testing.T, s *copilot.Session) []event.Event {
	t.Helper()
	all, ok := read(t, s)
	require.True(t, ok, "the record has a gap")
	return all
}

// of returns the bodies of one type.
func of[B event.Body](t *testing.T, s *copilot.Session) []B {
	t.Helper()
	var all []B
	for _, e := range events(t, s) {
		if b, ok := e.Body.(B); ok {
			all = append(all, b)
		}
	}
	return all
}

// story describes a record, one line per event, with runs called r1, r2, … in
// order. It omits deltas, starts and turns.
func story(t *testing.T, s *copilot.Session) []string {
	t.Helper()
	var lines []string
	runs := map[string]string{"": "-"}
	for _, e := range events(t, s) {
		if runs[e.Run] == "" {
			runs[e.Run] = fmt.Sprintf("r%d", len(runs))
		}
		if line := tell(e.Body); line != "" {
			lines = append(lines, runs[e.Run]+" "+line)
		}
	}
	return lines
}

func tell(body event.Body) string {
	switch b := body.(type) {
	case event.SessionOpened:
		return "opened with " + b.Model
	case event.SessionClosed:
		return "closed"
	case event.SessionError:
		return fmt.Sprintf("failure (%s)", b.Kind)
	case event.ModelChanged:
		return "model " + b.Model
	case event.TitleChanged:
		return "title " + b.Title
	case event.RunStarted:
		return "starts"
	case event.RunEnded:
		return string(b.Outcome)
	case event.UserMessage:
		return "user: " + b.Prompt.Text
	case event.MessageEnded:
		return "says: " + b.Text
	case event.QuestionAsked:
		return "asks " + b.Question.ID
	case event.QuestionClosed:
		return fmt.Sprintf("%s is %s", b.ID, b.Ending)
	case event.Notice:
		return "notice " + b.Kind
	}
	return ""
}

// checkRecord checks what readers of a record rely on.
func checkRecord(t *testing.T, all []event.Event) {
	t.Helper()
	var current string
	var ended []string
	open := map[string]bool{}
	for i, e := range all {
		switch b := e.Body.(type) {
		case event.RunStarted:
			assert.Empty(t, current, "a run starts during another (event %d)", i)
			assert.NotContains(t, ended, e.Run, "a run starts twice (event %d)", i)
			current = e.Run
		case event.QuestionAsked:
			assert.False(t, open[b.Question.ID], "a question is asked twice (event %d)", i)
			open[b.Question.ID] = true
		case event.QuestionClosed:
			assert.True(t, open[b.ID], "a question ends twice or without having been asked (event %d)", i)
			delete(open, b.ID)
		}
		assert.Equal(t, current, e.Run, "events belong to the current run (event %d: %#v)", i, e.Body)
		switch e.Body.(type) {
		case event.RunEnded:
			assert.NotEmpty(t, current, "a run ends that is not the current one (event %d)", i)
			assert.Empty(t, open, "questions stay open after their run (event %d)", i)
			ended, current = append(ended, current), ""
		case event.SessionOpened:
			if i > 0 {
				assert.IsType(t, event.SessionClosed{}, all[i-1].Body, "nothing is between closing and opening (event %d)", i)
			}
		case event.SessionClosed:
			assert.Empty(t, open, "questions stay open in a closed session (event %d)", i)
			assert.Empty(t, current, "a closed session has a run (event %d)", i)
		}
	}
	assert.Empty(t, current, "the last run has not ended")
}
