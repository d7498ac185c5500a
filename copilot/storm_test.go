package copilot_test

import (
	"context"
	"fmt"
	"math/rand/v2"
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

// storm is many clients that use a few sessions at random, with an
// agent that acts at random, too.
type storm struct {
	*world
	dice func(n int) int
}

func newStorm(w *world, seed uint64) *storm {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, seed))
	return &storm{world: w, dice: func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return r.IntN(n)
	}}
}

func (s *storm) pause() { time.Sleep(time.Duration(s.dice(300)) * time.Millisecond) }

// script reacts to a prompt.
func (s *storm) script(t *fake.Turn) {
	for range s.dice(4) {
		switch s.dice(17) {
		case 0:
			t.Kill()
		case 16:
			t.Forget()
		case 1:
			t.Emit(event.SessionError{Kind: fault.Internal, Text: "broken"})
		case 2, 3:
			t.Ask(event.Question{Names: []string{permission.Exec}})
		case 4:
			t.Ask(event.Question{Kind: event.AskInput, Freeform: true})
		case 5:
			t.WaitIgnoringAbort(time.Duration(s.dice(4000)) * time.Millisecond)
		case 6:
			t.Emit(event.TitleChanged{Title: "x"})
		case 7:
			t.Emit(event.QuestionAsked{Question: event.Question{ID: t.ID("left"), Kind: event.AskPermission, Names: []string{"x"}}})
		case 8, 9:
			t.Wait(time.Duration(s.dice(1000)) * time.Millisecond)
		case 10:
			t.Steered()
		case 11:
			t.UseTool("tool", "{}")
		case 12:
			t.Ask(event.Question{Kind: event.AskForm, Form: form()})
		case 13:
			t.EmitAs("helper", event.ModelCalled{Input: 1})
		default:
			t.Say("a few words")
		}
	}
}

// before decides how calls of the agent go.
func (s *storm) before(ctx context.Context, c fake.Call) error {
	switch s.dice(40) {
	case 0:
		return fmt.Errorf("%s fails at random", c.Method)
	case 1:
		s.agents.Kill(c.Process)
	case 2:
		return fake.HangForever(ctx, c)
	case 3, 4, 5:
		select {
		case <-time.After(time.Duration(s.dice(1000)) * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	case 6:
		c.Emit(event.Notice{Kind: "x"}, event.Idle{})
	}
	return nil
}

// client uses a session repeatedly.
func (s *storm) client(session *copilot.Session) {
	for range 40 {
		s.pause()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		switch s.dice(18) {
		case 0, 1, 2, 3:
			session.Prompt(event.Prompt{Text: "do something", Steer: s.dice(2) == 0})
		case 14:
			session.Compact()
		case 15:
			_ = session.SetRules(permission.Policy{permission.Exec: []permission.Decision{permission.Allow, permission.Ask}[s.dice(2)]})
		case 16:
			session.Extensions(ctx)
		case 4, 5:
			session.Cancel("")
		case 6:
			session.Close()
		case 7, 8:
			session.Reopen(ctx)
		case 9:
			session.SetModel(ctx, []string{"model-a", "model-b", "x"}[s.dice(3)])
		case 10:
			s.agents.Emit(session.ID(), event.Idle{}, event.UsageChanged{Used: 1})
		default:
			s.answer(session)
		}
		cancel()
	}
}

// answer answers a question, open or not.
func (s *storm) answer(session *copilot.Session) {
	all, _ := read(s.t, session)
	for _, e := range all {
		if q, ok := e.Body.(event.QuestionAsked); ok && s.dice(2) == 0 {
			session.Answer(q.Question.ID, event.Answer{Approved: q.Question.Kind == event.AskPermission}, "test")
		}
	}
}

func TestStorm(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 3
	}
	for seed := range rounds {
		options := copilot.Options{
			Pool:   agent.PoolOptions{Size: 2, PerProcess: 2, PingEvery: time.Second, MinAge: -1},
			Limits: copilot.Limits{Runs: 2, Question: 2 * time.Second, Tool: time.Second},
		}
		inWorld(t, fmt.Sprintf("records are complete and nothing leaks (%d)", seed), options, func(w *world) {
			s := newStorm(w, uint64(seed))
			w.agents.Dying = 100 * time.Millisecond
			var sessions []*copilot.Session
			for range 4 {
				sessions = append(sessions, w.start())
			}
			w.agents.Script, w.agents.Before = s.script, s.before
			w.agents.BeforeProbe(s.before)
			w.agents.SetMemory(func(int) int64 { return int64(s.dice(15)) << 27 }) // sometimes too much
			w.agents.SetBackground(func(string) bool { return s.dice(2) == 0 })
			var clients sync.WaitGroup
			for _, session := range sessions {
				for range 4 {
					clients.Go(func() { s.client(session) })
				}
			}
			clients.Wait()
			for _, session := range sessions {
				session.Close()
				for _, e := range events(w.t, session) {
					if f, ok := e.Body.(event.SessionError); ok {
						assert.NotContains(w.t, f.Text, "while it was not idle", "the agent got a prompt too early")
					}
				}
			}
			wait(20 * time.Second)
			require.Zero(w.t, w.agents.Running(), "a lease is still held")
		})
	}
}
