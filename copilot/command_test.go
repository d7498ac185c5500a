package copilot_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// connected returns a home whose portals call each other. Sockets need real time.
func connected(t *testing.T) *home {
	t.Helper()
	h := &home{t: t, agents: fake.New(), directory: t.TempDir(), work: t.TempDir()}
	h.agents.Script = func(turn *fake.Turn) {
		if turn.Prompt == "ask" {
			a, _ := turn.Ask(event.Question{Names: []string{permission.Exec}, Title: "Run a command"})
			turn.Say(map[bool]string{true: "allowed", false: "refused"}[a.Approved])
			return
		}
		fake.Echo(turn)
	}
	t.Cleanup(h.agents.Close)
	return h
}

func (h *home) connectedPortal(o copilot.Options) *portal {
	h.t.Helper()
	o.Sockets = filepath.Join(h.directory, "sockets")
	return h.portalWith(o)
}

// stored waits until another portal knows the session, and returns it there.
func (p *portal) stored(id string) *copilot.Session {
	p.t.Helper()
	p.eventually(func() bool {
		s, err := p.host.Session(p.t.Context(), id)
		return err == nil && s.Info().Owner != 0
	}, "the session is stored")
	return p.session(id)
}

func (p *portal) eventually(is func() bool, what string) {
	p.t.Helper()
	require.Eventually(p.t, is, time.Minute, 5*time.Millisecond, what)
}

func (p *portal) awaitPlot(s *copilot.Session, line string) {
	p.t.Helper()
	p.eventually(func() bool { return slices.Contains(plot(p.t, s), line) }, line)
}

func openQuestion(t *testing.T, s *copilot.Session) (id string) {
	t.Helper()
	for _, e := range past(t, s) {
		if q, ok := e.Value.Body.(event.QuestionAsked); ok {
			id = q.Question.ID
		}
	}
	return id
}

func TestSessionIsChangedFromEveryProcess(t *testing.T) {
	h := connected(t)
	a, b := h.connectedPortal(copilot.Options{}), h.connectedPortal(copilot.Options{})
	defer a.stop()
	defer b.stop()
	here := a.start()
	there := b.stored(here.ID())
	assert.Equal(t, copilot.StateIdle, there.Info().State)

	run, err := there.Prompt(event.Prompt{Text: "ask", By: "test"})
	require.NoError(t, err)
	b.eventually(func() bool { return openQuestion(t, there) != "" }, "the question arrives")
	b.eventually(func() bool { return there.Info().State == copilot.StateWaiting }, "the state arrives")
	assert.Equal(t, run, there.Info().Run)
	assert.NotEmpty(t, there.Info().WaitsFor)
	same, ok := b.host.SessionByRun(run)
	require.True(t, ok)
	assert.Same(t, there, same)

	queued, err := there.Prompt(event.Prompt{Text: "later"})
	require.NoError(t, err)
	_, err = there.Prompt(event.Prompt{Text: "now", RefuseIfBusy: true})
	require.ErrorIs(t, err, fault.ErrBusy)
	b.eventually(func() bool { return len(there.Queue()) == 1 }, "the queue arrives")
	require.NoError(t, there.EditQueued(queued, "after"))
	b.eventually(func() bool { return there.Queue()[0].Text == "after" }, "the queue changes")
	require.ErrorIs(t, there.Cancel("unknown"), fault.ErrRunNotFound)
	require.ErrorIs(t, there.Answer("unknown", event.Answer{}, "test"), fault.ErrQuestionNotFound)
	require.NoError(t, there.Answer(openQuestion(t, there), event.Answer{Approved: true}, "test"))
	require.ErrorIs(t, here.Answer(openQuestion(t, there), event.Answer{Approved: true}, "test"), fault.ErrAlreadyAnswered)
	b.awaitPlot(there, "says: allowed")
	b.awaitPlot(there, "says: after")

	require.NoError(t, there.Rename(t.Context(), "mine"))
	assert.Equal(t, "mine", here.Info().Title)
	assert.Equal(t, "mine", there.Info().Title, "a caller sees its own change")
	require.NoError(t, there.SetRules(permission.Policy{permission.Exec: permission.Allow}))
	assert.Equal(t, permission.Allow, here.Rules()[permission.Exec])
	there.SetAttribute("name", "value")
	assert.Equal(t, "value", here.Attribute("name"))
	tools := []event.Tool{{Name: "look", Description: "looks"}}
	require.NoError(t, there.SetTools(t.Context(), tools))
	assert.Equal(t, tools, here.Tools())
	require.NoError(t, there.SetServers([]agent.ServerConfig{{Name: "s", Command: "true"}}))
	_, err = there.Extensions(t.Context())
	require.NoError(t, err)

	b.eventually(func() bool { return there.Info().State == copilot.StateIdle }, "the end arrives")
	fork, err := b.host.Fork(t.Context(), there.ID(), copilot.Cut{})
	require.NoError(t, err)
	assert.Equal(t, here.ID(), fork.Info().ForkOf.ID)
	b.awaitPlot(fork, "says: after")
	require.NoError(t, there.Close())
	assert.Equal(t, copilot.StateClosed, here.Info().State)
	b.eventually(func() bool { return b.session(here.ID()).Info().State == copilot.StateClosed }, "the close arrives")
	require.NoError(t, b.host.Delete(t.Context(), fork.ID()))
	_, err = a.host.Session(t.Context(), fork.ID())
	require.ErrorIs(t, err, fault.ErrSessionNotFound)
	assert.Equal(t, plot(t, here), plot(t, b.session(here.ID())))
}

func TestCallerSeesItsOwnChangeWhileOthersReadTheSession(t *testing.T) {
	h := connected(t)
	a, b := h.connectedPortal(copilot.Options{}), h.connectedPortal(copilot.Options{})
	defer a.stop()
	defer b.stop()
	here := a.start()
	there := b.stored(here.ID())
	release := there.UseStorage()
	go func() {
		defer time.AfterFunc(300*time.Millisecond, release)
		for began := time.Now(); here.Info().Title != "mine" && time.Since(began) < time.Minute; { // until the holder has changed it
			<-time.After(time.Millisecond)
		}
	}()
	require.NoError(t, there.Rename(t.Context(), "mine"))
	assert.Equal(t, "mine", there.Info().Title)
}

// The session is idle when another process begins to use it.
func TestSessionThatWasIdleIsChangedInItsHolder(t *testing.T) {
	h := connected(t)
	first := h.connectedPortal(copilot.Options{})
	id := first.start().ID()
	prompt(t, first.session(id), "before")
	first.awaitPlot(first.session(id), "says: before")
	first.stop()
	a, b := h.connectedPortal(copilot.Options{}), h.connectedPortal(copilot.Options{})
	defer a.stop()
	defer b.stop()
	there := b.session(id)
	require.Zero(t, there.Info().Owner)
	here := a.session(id)
	prompt(t, here, "ask")
	a.eventually(func() bool { return openQuestion(t, here) != "" }, "the question")
	a.eventually(func() bool { return a.host.Flushed(id) }, "it is stored")
	there.SetAttribute("name", "value")
	assert.Equal(t, "value", here.Attribute("name"))
	require.NoError(t, there.Cancel(""))
	a.awaitPlot(here, "cancelled")
}

func TestListsInAnswersReachOtherProcesses(t *testing.T) {
	h := connected(t)
	a, b := h.connectedPortal(copilot.Options{}), h.connectedPortal(copilot.Options{})
	defer a.stop()
	defer b.stop()
	answers := make(chan event.Answer, 1)
	h.agents.Script = func(turn *fake.Turn) {
		answer, _ := turn.AskAlways(event.Question{Kind: event.AskForm, Text: "x", Form: &event.Form{Fields: []event.Field{
			{Name: "l", Type: event.FieldList, Choices: []event.Choice{{Value: "a"}, {Value: "b"}}},
		}}})
		answers <- answer
	}
	there := b.stored(a.start().ID())
	prompt(t, there, "x")
	b.eventually(func() bool { return openQuestion(t, there) != "" }, "the question arrives")
	sent := event.Answer{Approved: true, Fields: map[string]any{"l": []string{"a"}}}
	require.NoError(t, there.Answer(openQuestion(t, there), sent, "test"))
	assert.Equal(t, sent, <-answers)
}

func TestCallsEndWithTheirProcess(t *testing.T) {
	h := connected(t)
	a, b := h.connectedPortal(copilot.Options{}), h.connectedPortal(copilot.Options{})
	there := b.stored(a.start().ID())
	a.stop()
	silent, err := net.Listen("unix", filepath.Join(h.directory, "sockets", a.store.Name()+".sock"))
	require.NoError(t, err)
	defer silent.Close()
	other := h.portal() // holds the session without a socket of its own
	defer other.stop()
	prompt(t, other.session(there.ID()), "ask")
	require.NoError(t, os.Rename(filepath.Join(h.directory, "sockets", a.store.Name()+".sock"), filepath.Join(h.directory, "sockets", other.store.Name()+".sock")))
	b.eventually(func() bool { return b.session(there.ID()).Info().Owner != 0 }, "the session is held")
	ended := make(chan error, 1)
	go func() {
		_, err := there.Prompt(event.Prompt{Text: "x"})
		ended <- err
	}()
	call, err := silent.Accept()
	require.NoError(t, err)
	defer call.Close()
	b.stop()
	require.ErrorIs(t, <-ended, fault.ErrStopping)
}

func TestAgentsThatCallToolsAreKnownInEveryProcess(t *testing.T) {
	h := connected(t)
	a, b := h.connectedPortal(copilot.Options{}), h.connectedPortal(copilot.Options{})
	defer a.stop()
	defer b.stop()
	proceed := make(chan struct{})
	release := sync.OnceFunc(func() { close(proceed) })
	defer release()
	h.agents.Script = func(turn *fake.Turn) {
		turn.Emit(event.ToolStarted{ID: "c", Name: "portal-answer"})
		<-proceed
		turn.Emit(event.ToolEnded{ID: "c"})
	}
	here := a.start()
	here.SetAttribute("depth", "1")
	prompt(t, here, "x")
	var calling []copilot.Caller
	b.eventually(func() bool {
		calling = b.host.Calling(t.Context(), []string{"answer"}) // a process that answers late has none
		return len(calling) == 1
	}, "the call")
	assert.Equal(t, []copilot.Caller{{Session: here.ID(), Attributes: map[string]string{"depth": "1"}}}, calling)
	assert.Empty(t, b.host.Calling(t.Context(), []string{"other"}))
	release()
	b.eventually(func() bool { return len(b.host.Calling(t.Context(), []string{"answer"})) == 0 }, "the end of the call")
}

func TestEveryCommandCanBeCalledByOtherProcesses(t *testing.T) {
	fields, routes := copilot.Commands()
	slices.Sort(routes)
	assert.Len(t, slices.Compact(routes), fields)
}

func TestCommandFollowsItsSessionToAnotherProcess(t *testing.T) {
	for name, end := range map[string]func(*portal){"stops": (*portal).stop, "is killed": (*portal).killNow} {
		t.Run(name, func(t *testing.T) {
			h := connected(t)
			a, b := h.connectedPortal(copilot.Options{}), h.connectedPortal(copilot.Options{})
			defer b.stop()
			here := a.start()
			there := b.stored(here.ID())
			_, err := there.Prompt(event.Prompt{Text: "first"})
			require.NoError(t, err)
			b.awaitPlot(there, "says: first")
			ended := make(chan struct{})
			go func() { defer close(ended); end(a) }()
			var prompted error
			b.eventually(func() bool {
				_, prompted = b.session(here.ID()).Prompt(event.Prompt{Text: "second"})
				return prompted == nil || !slices.Contains([]fault.Kind{fault.Unavailable, fault.Busy}, fault.KindOf(prompted)) // until the handover ends
			}, "the prompt is accepted")
			require.NoError(t, prompted)
			<-ended
			b.eventually(func() bool { return b.session(here.ID()).Info().Owner == 0 }, "the other process holds it")
		})
	}
}

// killNow is kill in real time.
func (p *portal) killNow() {
	p.dead.Store(true)
	_ = p.store.Kill()
	p.host.Close(p.t.Context())
}

func TestClientsOfOtherProcessesAnswerQuestions(t *testing.T) {
	h := connected(t)
	limits := copilot.Options{Unattended: map[string]copilot.Unattended{"test": {After: 2 * time.Second, Decision: permission.Deny}}}
	a, b := h.connectedPortal(limits), h.connectedPortal(limits)
	defer a.stop()
	defer b.stop()
	here := a.start()
	there := b.stored(here.ID())
	leave := b.host.AttachClient(there.ID(), copilot.Capabilities{Kinds: []event.QuestionKind{event.AskPermission}})
	b.eventually(func() bool { return a.host.Clients(here.ID()) == 1 }, "the holder knows the client")
	prompt(t, there, "ask")
	b.eventually(func() bool { return openQuestion(t, there) != "" }, "the question arrives")
	assert.Never(t, func() bool { return here.Info().State != copilot.StateWaiting }, 3*time.Second, 50*time.Millisecond, "a client can answer")
	leave()
	b.awaitPlot(there, "says: refused")
}

func TestProcessWithoutSocketIsNamed(t *testing.T) {
	h := connected(t)
	a, b := h.portal(), h.connectedPortal(copilot.Options{})
	defer a.stop()
	defer b.stop()
	here := a.start()
	there := b.stored(here.ID())
	_, err := there.Prompt(event.Prompt{Text: "x"})
	require.ErrorIs(t, err, fault.ErrSessionInUse)
	assert.Contains(t, err.Error(), "by process")
}

func TestOtherProcessesSeeThatQueuedRunGetsItsSlot(t *testing.T) {
	h := connected(t)
	p := h.connectedPortal(copilot.Options{})
	id := p.start().ID()
	prompt(t, p.session(id), "first")
	p.awaitPlot(p.session(id), "completed")
	p.eventually(func() bool { return p.host.Flushed(id) }, "it is stored")
	p.stop()
	a, b := h.connectedPortal(copilot.Options{Limits: copilot.Limits{Runs: 1}}), h.connectedPortal(copilot.Options{})
	defer a.stop()
	defer b.stop()
	proceed, open := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(proceed) })
	defer release()
	defer close(open)
	h.agents.Script = func(*fake.Turn) { <-proceed }
	h.agents.Before = fake.On(fake.Open, func(_ context.Context, c fake.Call) error {
		if c.Session == id {
			<-open
		}
		return nil
	})
	prompt(t, a.start(), "second")
	a.eventually(func() bool { return h.agents.Count(fake.Send) == 2 }, "the slot is taken")
	prompt(t, a.session(id), "third")
	there := b.session(id)
	b.eventually(func() bool { return there.Info().State == copilot.StateQueued }, "the run waits for its slot")
	release()
	b.eventually(func() bool { return there.Info().State == copilot.StateRunning }, "it starts its agent")
}
