package copilot_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
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
)

var (
	yes    = event.Answer{Approved: true}
	no     = event.Answer{}
	always = event.Answer{Approved: true, Remember: true}
	never  = event.Answer{Remember: true}
)

// asker is an agent that asks one question per prompt and keeps the answers.
type asker struct {
	mu      sync.Mutex
	answers []event.Answer
}

// requires returns a question for permissions.
func requires(id string, needs ...permission.Need) event.Question {
	q := event.Question{ID: id, Kind: event.AskPermission, Title: "Do something"}
	q.SetNeeds(needs...)
	return q
}

func (w *world) asks(q event.Question) *asker {
	a := &asker{}
	w.agents.Script = func(t *fake.Turn) {
		if answer, ok := t.AskAlways(q); ok {
			a.mu.Lock()
			a.answers = append(a.answers, answer)
			a.mu.Unlock()
		}
	}
	return a
}

func (a *asker) got() []event.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.answers
}

func TestAnswer(t *testing.T) {
	permission := event.Question{ID: "q", Kind: event.AskPermission, Names: []string{permission.Exec}}
	input := event.Question{ID: "q", Kind: event.AskInput, Text: "Which?", Choices: []string{"a", "b", ""}}
	free := input
	free.Freeform = true
	form := event.Question{ID: "q", Kind: event.AskForm, Form: &event.Form{Fields: []event.Field{{Name: "n", Type: event.FieldText}}}}
	plan := event.Question{ID: "q", Kind: event.AskPlan, Choices: []string{"interactive", "autopilot"}}
	tool := event.Question{ID: "q", Kind: event.AskTool, Tool: "t"}
	tests := []struct {
		name     string
		question event.Question
		answer   event.Answer
		want     fault.Kind // "": accepted
	}{
		{"a permission is granted", permission, yes, ""},
		{"a permission is denied", permission, no, ""},
		{"a permission is denied with a reason", permission, event.Answer{Reason: "not today"}, ""},
		{"a permission is not a text", permission, event.Answer{Text: "yes"}, fault.Invalid},
		{"a choice is made", input, event.Answer{Text: "b"}, ""},
		{"an empty choice is made if it is offered", input, no, ""},
		{"an unknown choice is rejected", input, event.Answer{Text: "c"}, fault.Invalid},
		{"choices are case-sensitive", input, event.Answer{Text: "B"}, fault.Invalid},
		{"a free text is accepted", free, event.Answer{Text: "c"}, ""},
		{"a text is not a permission", free, yes, fault.Invalid},
		{"a form is filled in", form, event.Answer{Approved: true, Fields: map[string]any{"n": "x"}}, ""},
		{"a form is declined", form, no, ""},
		{"a text is not a form", form, event.Answer{Text: "x"}, fault.Invalid},
		{"a plan is approved with one of its choices", plan, event.Answer{Approved: true, Text: "autopilot"}, ""},
		{"a plan is not approved with another choice", plan, event.Answer{Approved: true, Text: "fleet"}, fault.Invalid},
		{"a choice alone neither approves nor rejects a plan", plan, event.Answer{Text: "autopilot"}, fault.Invalid},
		{"a tool has failed", tool, event.Answer{Failed: true, Reason: "no"}, ""},
		{"nothing else can fail", permission, event.Answer{Failed: true, Reason: "no"}, fault.Invalid},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			asker := w.asks(tt.question)
			s := w.start()
			w.run(s, "a")
			err := s.Answer("q", tt.answer, "test")
			synctest.Wait()
			if tt.want != "" {
				assert.Equal(w.t, tt.want, fault.KindOf(err))
				assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
				return
			}
			require.NoError(w.t, err)
			assert.Equal(w.t, []event.Answer{tt.answer}, asker.got())
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			assert.Equal(w.t, []event.QuestionClosed{
				{ID: "q", Kind: tt.question.Kind, By: "test", Ending: event.Answered, Answer: tt.answer},
			}, of[event.QuestionClosed](w.t, s))
			require.ErrorIs(w.t, s.Answer("q", tt.answer, "test"), fault.ErrAlreadyAnswered)
		})
	}
}

func TestQuestions(t *testing.T) {
	write := requires("q", permission.Need{Name: permission.Write, Target: "/elsewhere/a"})
	tests := []struct {
		name string
		do   func(*world)
	}{
		{"a question is recorded as it was asked", func(w *world) {
			w.asks(write)
			s := w.start()
			w.run(s, "a")
			want := write
			want.Kind, want.Needs = event.AskPermission, nil
			asked := of[event.QuestionAsked](w.t, s)
			require.Len(w.t, asked, 1)
			asked[0].Question.Scopes = nil
			assert.Equal(w.t, want, asked[0].Question)
		}},
		{"the first of many concurrent answers wins", func(w *world) {
			asker := w.asks(write)
			s := w.start()
			w.run(s, "a")
			var taken atomic.Int32
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					err := s.Answer("q", event.Answer{Approved: i%2 == 0, Reason: fmt.Sprint(i)}, fmt.Sprint(i))
					if err == nil {
						taken.Add(1)
						return
					}
					assert.ErrorIs(w.t, err, fault.ErrAlreadyAnswered)
				})
			}
			all.Wait()
			synctest.Wait()
			assert.EqualValues(w.t, 1, taken.Load())
			answered := of[event.QuestionClosed](w.t, s)
			require.Len(w.t, answered, 1)
			assert.Equal(w.t, []event.Answer{answered[0].Answer}, asker.got())
			assert.Equal(w.t, answered[0].By, answered[0].Answer.Reason)
			assert.Equal(w.t, 1, w.agents.Count(fake.Answer))
		}},
		{"an unknown question is not found", func(w *world) {
			s := w.start()
			require.ErrorIs(w.t, s.Answer("q", yes, "test"), fault.ErrQuestionNotFound)
			require.ErrorIs(w.t, s.Answer("", yes, "test"), fault.ErrQuestionNotFound)
		}},
		{"the question of another session is not found", func(w *world) {
			w.asks(write)
			s, other := w.start(), w.start()
			w.run(s, "a")
			require.ErrorIs(w.t, other.Answer("q", yes, "test"), fault.ErrQuestionNotFound)
		}},
		{"a question is withdrawn when its run ends", func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				q := write
				q.Kind = event.AskPermission
				t.Emit(event.QuestionAsked{Question: q})
			}
			s := w.start()
			w.run(s, "a")
			require.ErrorIs(w.t, s.Answer("q", yes, "test"), fault.ErrAlreadyAnswered)
			assert.Equal(w.t, []event.QuestionClosed{{ID: "q", Kind: event.AskPermission, Ending: event.Withdrawn}}, of[event.QuestionClosed](w.t, s))
		}},
		{"the agent withdraws a question itself", func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				q := write
				q.Kind = event.AskPermission
				t.Emit(event.QuestionAsked{Question: q}, event.QuestionClosed{ID: "q", Ending: event.Withdrawn})
				t.Wait(time.Hour)
			}
			s := w.start()
			w.run(s, "a")
			assert.Equal(w.t, copilot.StateRunning, s.Info().State)
			require.ErrorIs(w.t, s.Answer("q", yes, "test"), fault.ErrAlreadyAnswered)
		}},
		{"several questions are open at once", func(w *world) {
			w.agents.Script = func(t *fake.Turn) {
				var all sync.WaitGroup
				for i := range 5 {
					q := event.Question{ID: fmt.Sprint(i), Names: []string{permission.Exec}}
					all.Go(func() { t.Ask(q) })
				}
				all.Wait()
			}
			s := w.start()
			w.run(s, "a")
			for i := range 5 {
				assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
				require.NoError(w.t, s.Answer(fmt.Sprint(4-i), yes, "test"))
			}
			synctest.Wait()
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
		}},
		{"permissions that the policy allows are not asked", func(w *world) {
			asker := w.asks(write)
			s := w.startWith(permission.Policy{"fs.write": permission.Allow})
			w.run(s, "a")
			assert.Equal(w.t, []event.Answer{yes}, asker.got())
			assert.Empty(w.t, of[event.QuestionAsked](w.t, s))
			require.ErrorIs(w.t, s.Answer("q", yes, "test"), fault.ErrQuestionNotFound)
		}},
		{"permissions that the policy denies are not asked, and the model gets the reason", func(w *world) {
			asker := w.asks(write)
			s := w.startWith(permission.Policy{"fs.write": permission.Deny})
			w.run(s, "a")
			require.Len(w.t, asker.got(), 1)
			assert.False(w.t, asker.got()[0].Approved)
			assert.NotEmpty(w.t, asker.got()[0].Reason)
			assert.Empty(w.t, of[event.QuestionAsked](w.t, s))
		}},
		{"reading is allowed inside the directory, even through a link", func(w *world) {
			asker := w.asks(event.Question{Names: []string{permission.Read}, Path: w.directory + "/a"})
			s := w.start()
			w.run(s, "a")
			assert.Equal(w.t, []event.Answer{yes}, asker.got())
		}},
		{"the policy does not answer questions to the user", func(w *world) {
			w.asks(event.Question{ID: "q", Kind: event.AskInput, Freeform: true})
			s := w.startWith(permission.Everywhere(permission.Allow))
			w.run(s, "a")
			assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
		}},
		{"a remembered permission is not asked again", func(w *world) {
			asker := w.asks(write)
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", always, "test"))
			synctest.Wait()
			w.run(s, "b")
			require.Len(w.t, asker.got(), 2)
			assert.Equal(w.t, yes, asker.got()[1])
			assert.Len(w.t, of[event.QuestionAsked](w.t, s), 1)
		}},
		{"a remembered denial is not asked again", func(w *world) {
			asker := w.asks(write)
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", never, "test"))
			synctest.Wait()
			w.run(s, "b")
			require.Len(w.t, asker.got(), 2)
			assert.False(w.t, asker.got()[1].Approved)
			assert.Len(w.t, of[event.QuestionAsked](w.t, s), 1)
		}},
		{"a remembered rule applies to one session and its scope only", func(w *world) {
			w.asks(write)
			policy := permission.Policy{"git": permission.Ask}
			s, other := w.startWith(policy), w.startWith(policy)
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", always, "test"))
			synctest.Wait()
			w.run(other, "a")
			assert.Equal(w.t, copilot.StateWaiting, other.Info().State)
			w.asks(requires("", permission.Need{Name: permission.Write, Target: "/elsewhere/b"}))
			w.run(s, "b")
			assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
			assert.Equal(w.t, permission.Policy{"git": permission.Ask}, policy)
		}},
		{"a remembered rule replaces a rule in another case", func(w *world) {
			asker := w.asks(write)
			s := w.startWith(permission.Policy{"FS.Write": permission.Ask})
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", always, "test"))
			synctest.Wait()
			w.run(s, "b")
			assert.Len(w.t, asker.got(), 2)
		}},
		{"a remembered force push is not asked again", func(w *world) {
			asker := w.asks(event.Question{ID: "q", Names: []string{permission.ForcePush}})
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", always, "test"))
			synctest.Wait()
			w.run(s, "b")
			assert.Len(w.t, asker.got(), 2)
		}},
		{"a wildcard name is not remembered", func(w *world) {
			w.asks(event.Question{ID: "q", Names: []string{"*", ""}})
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", always, "test"))
			synctest.Wait()
			w.asks(write)
			w.run(s, "b")
			assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
		}},
		{"an input is not remembered", func(w *world) {
			w.asks(event.Question{ID: "q", Kind: event.AskInput, Freeform: true, Names: []string{"*"}})
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", event.Answer{Text: "x", Remember: true}, "test"))
			synctest.Wait()
			w.asks(write)
			w.run(s, "b")
			assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
		}},
		{"an answer that does not reach the agent fails the run, which would wait forever", func(w *world) {
			w.asks(write)
			w.agents.Before = fake.On(fake.Answer, func(context.Context, fake.Call) error { return errors.New("broken") })
			s := w.start()
			w.run(s, "a")
			require.NoError(w.t, s.Answer("q", yes, "test"))
			wait(time.Minute)
			assert.Equal(w.t, []string{
				"- opened with model-a", "r1 starts", "r1 user: a", "r1 asks q", "r1 q is answered", "r1 failure (internal)", "r1 failed",
			}, story(w.t, s))
			w.agents.Before = nil
			w.run(s, "b")
			assert.Equal(w.t, copilot.StateWaiting, s.Info().State)
		}},
		{"an answer that the agent does not accept in time fails the run, even one of the policy", func(w *world) {
			w.asks(write)
			w.agents.Before = fake.On(fake.Answer, fake.HangForever)
			s := w.startWith(permission.Everywhere(permission.Allow))
			w.run(s, "a")
			wait(time.Minute)
			assert.Equal(w.t, []string{
				"- opened with model-a", "r1 starts", "r1 user: a", "r1 failure (timeout)", "r1 failed",
			}, story(w.t, s))
		}},
		{"a failed answer between runs is only a failure", func(w *world) {
			w.agents.Before = fake.On(fake.Answer, fake.HangForever)
			s := w.startWith(permission.Everywhere(permission.Allow))
			q := write
			q.Kind = event.AskPermission
			w.agents.Emit(s.ID(), event.QuestionAsked{Question: q})
			wait(time.Minute)
			assert.Equal(w.t, []string{"- opened with model-a", "- failure (timeout)"}, story(w.t, s))
		}},
		{"a limited number of answered questions is remembered", func(w *world) {
			const many = 1500
			w.agents.Script = func(t *fake.Turn) {
				for i := range many {
					t.Ask(event.Question{ID: fmt.Sprint(i), Names: []string{permission.Write}})
				}
			}
			s := w.start()
			w.run(s, "a")
			for i := range many {
				require.NoError(w.t, s.Answer(fmt.Sprint(i), yes, "test"))
				synctest.Wait()
			}
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
			require.ErrorIs(w.t, s.Answer(fmt.Sprint(many-1), yes, "test"), fault.ErrAlreadyAnswered)
		}},
		{"a session without a client that answers is not asked", func(w *world) {
			w.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Kind: event.AskInput, Freeform: true}) }
			s, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
			require.NoError(w.t, err)
			w.run(s, "a")
			assert.Empty(w.t, of[event.QuestionAsked](w.t, s))
			assert.Equal(w.t, copilot.StateIdle, s.Info().State)
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, tt.do)
	}
}

func TestSetModel(t *testing.T) {
	set := func(w *world, s *copilot.Session, model string) error { return s.SetModel(w.t.Context(), model) }
	tests := []struct {
		name string
		do   func(w *world, s *copilot.Session)
		want []string // after the opening
	}{
		{
			"the model changes from the next prompt on", func(w *world, s *copilot.Session) {
				require.NoError(w.t, set(w, s, "model-b"))
				assert.Equal(w.t, "model-b", s.Info().Model)
				w.agents.Script = func(t *fake.Turn) { assert.Equal(w.t, "model-b", t.Model) }
				w.run(s, "a")
			},
			[]string{"- model model-b", "r1 starts", "r1 user: a", "r1 completed"},
		},
		{
			"an unknown model is rejected", func(w *world, s *copilot.Session) {
				require.ErrorIs(w.t, set(w, s, "x"), fault.ErrModelNotFound)
				assert.Equal(w.t, "model-a", s.Info().Model)
				assert.Zero(w.t, w.agents.Count(fake.SetModel))
			},
			[]string{},
		},
		{
			"the model changes after the process has died", func(w *world, s *copilot.Session) {
				w.loseProcess()
				require.ErrorIs(w.t, set(w, s, "x"), fault.ErrModelNotFound)
				require.NoError(w.t, set(w, s, "model-b"))
				w.run(s, "a")
				assert.Equal(w.t, "model-b", w.agents.Calls(fake.Open)[1].Opening.Model)
				s.Close()
				wait(10 * time.Second)
				assert.Zero(w.t, w.agents.Running(), "a lease is still held")
			},
			[]string{"- failure (unavailable)", "- model model-b", "r1 starts", "r1 user: a", "r1 says: a", "r1 completed", "- closed"},
		},
		{
			"the model does not change if the process cannot be started", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = fake.On(fake.Launch, func(context.Context, fake.Call) error { return errors.New("broken") })
				assert.Equal(w.t, fault.Unavailable, fault.KindOf(set(w, s, "model-b")))
			},
			[]string{"- failure (unavailable)"},
		},
		{
			"the same model again is not an event", func(w *world, s *copilot.Session) {
				require.NoError(w.t, set(w, s, "model-a"))
			},
			[]string{},
		},
		{
			"an empty name means the default", func(w *world, s *copilot.Session) {
				require.NoError(w.t, set(w, s, "model-b"))
				require.NoError(w.t, set(w, s, ""))
			},
			[]string{"- model model-b", "- model model-a"},
		},
		{
			"the model does not change during a run", func(w *world, s *copilot.Session) {
				w.agents.Script = untilAborted
				w.prompt(s, "a")
				assert.Equal(w.t, fault.Busy, fault.KindOf(set(w, s, "model-b")))
				synctest.Wait()
				assert.Equal(w.t, fault.Busy, fault.KindOf(set(w, s, "model-b")))
				require.NoError(w.t, s.Cancel(""))
				synctest.Wait()
				require.NoError(w.t, set(w, s, "model-b"))
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: I begin", "r1 cancelled", "- model model-b"},
		},
		{
			"an agent that refuses does not change the model", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.SetModel, func(context.Context, fake.Call) error { return errors.New("broken") })
				require.ErrorContains(w.t, set(w, s, "model-b"), "broken")
				assert.Equal(w.t, "model-a", s.Info().Model)
			},
			[]string{},
		},
		{
			"an agent that hangs does not change the model", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.SetModel, fake.HangForever)
				began := time.Now()
				err := set(w, s, "model-b")
				assert.Equal(w.t, fault.Timeout, fault.KindOf(err))
				require.EqualError(w.t, err, "the agent did not change the model in time; try again")
				assert.Less(w.t, time.Since(began), 11*time.Second)
			},
			[]string{},
		},
		{
			"an agent may take long to start", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = fake.On(fake.Launch, func(context.Context, fake.Call) error {
					<-time.After(15 * time.Second)
					return nil
				})
				require.NoError(w.t, set(w, s, "model-b"))
			},
			[]string{"- failure (unavailable)", "- model model-b"},
		},
		{
			"an agent that dies does not change the model", func(w *world, s *copilot.Session) {
				w.agents.Before = w.kills(fake.SetModel)
				assert.Equal(w.t, fault.Unavailable, fault.KindOf(set(w, s, "model-b")))
				synctest.Wait()
			},
			[]string{"- failure (unavailable)"},
		},
		{
			"the agent changes the model on its own", func(w *world, s *copilot.Session) {
				w.agents.Emit(s.ID(), event.ModelChanged{Model: "model-b"}, event.ModelChanged{})
				assert.Equal(w.t, "model-b", s.Info().Model)
			},
			[]string{"- model model-b"},
		},
		{
			"changes are serialized", func(w *world, s *copilot.Session) {
				w.agents.Before = fake.On(fake.SetModel, func(_ context.Context, c fake.Call) error {
					if c.Model == "model-b" {
						<-time.After(time.Second)
					}
					return nil
				})
				var both sync.WaitGroup
				both.Go(func() { assert.NoError(w.t, set(w, s, "model-b")) })
				synctest.Wait()
				both.Go(func() { assert.NoError(w.t, set(w, s, "model-a")) })
				both.Wait()
				calls := w.agents.Calls(fake.SetModel)
				assert.Equal(w.t, calls[len(calls)-1].Model, s.Info().Model)
			},
			[]string{"- model model-b", "- model model-a"},
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			tt.do(w, s)
			assert.Equal(w.t, tt.want, story(w.t, s)[1:])
		})
	}
}
