package copilot_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

func TestClose(t *testing.T) {
	tests := []struct {
		name string
		do   func(w *world, s *copilot.Session)
		want []string // after the opening
	}{
		{
			"an idle session closes", func(_ *world, s *copilot.Session) {
				s.Close()
			},
			[]string{"- closed"},
		},
		{
			"closing twice is harmless", func(_ *world, s *copilot.Session) {
				s.Close()
				s.Close()
			},
			[]string{"- closed"},
		},
		{
			"concurrent calls return when the record has ended", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) { t.WaitIgnoringAbort(time.Second) }
				w.run(s, "a")
				var all sync.WaitGroup
				for range 50 {
					all.Go(func() {
						s.Close()
						_, err := s.Record().Append(event.Event{})
						assert.Error(w.t, err)
					})
				}
				all.Wait()
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "- closed"},
		},
		{
			"a run is cancelled and queued prompts are dropped", func(w *world, s *copilot.Session) {
				w.agents.Script = untilAborted
				w.prompt(s, "a")
				w.run(s, "b")
				s.Close()
			},
			[]string{"r1 starts", "r1 user: a", "r1 says: I begin", "r1 cancelled", "- closed"},
		},
		{
			"a run that has just been requested ends, too", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) { t.WaitForAbort() } // it may have come so far
				w.prompt(s, "a")
				s.Close()
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "- closed"},
		},
		{
			"open questions are withdrawn", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Names: []string{permission.Write}}) }
				w.run(s, "a")
				s.Close()
			},
			[]string{"r1 starts", "r1 user: a", "r1 asks question-1", "r1 question-1 is cancelled", "r1 cancelled", "- closed"},
		},
		{
			"open questions between runs are withdrawn", func(w *world, s *copilot.Session) {
				q := event.Question{ID: "q", Kind: event.AskPermission, Names: []string{permission.Write}}
				w.agents.Emit(s.ID(), event.QuestionAsked{Question: q})
				s.Close()
			},
			[]string{"- asks q", "- q is cancelled", "- closed"},
		},
		{
			"a session closes while its process starts", func(w *world, s *copilot.Session) {
				w.loseProcess()
				w.agents.Before = fake.On(fake.Launch, fake.HangForever)
				w.run(s, "a")
				s.Close()
			},
			[]string{"- failure (unavailable)", "r1 starts", "r1 user: a", "r1 cancelled", "- closed"},
		},
		{
			"a session closes although its agent ignores it", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) {
					t.WaitIgnoringAbort(time.Hour)
					t.Say("I did it all the same")
				}
				w.run(s, "a")
				began := time.Now()
				s.Close()
				assert.LessOrEqual(w.t, time.Since(began), 5*time.Second)
				wait(time.Hour)
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "- closed"},
		},
		{
			"a session closes although its agent hangs", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) { t.Ask(event.Question{Names: []string{permission.Write}}) }
				w.run(s, "a")
				w.agents.Before = fake.HangForever
				require.NoError(w.t, s.Answer("question-1", event.Answer{Approved: true}, "test"))
				began := time.Now()
				s.Close()
				assert.LessOrEqual(w.t, time.Since(began), 5*time.Second)
			},
			nil, // how far the answer comes does not matter
		},
		{
			"a closed session rejects everything", func(w *world, s *copilot.Session) {
				s.Close()
				_, err := s.Prompt(event.Prompt{Text: "a"})
				require.ErrorIs(w.t, err, fault.ErrSessionClosed)
				require.ErrorIs(w.t, s.Cancel(""), fault.ErrSessionClosed)
				require.ErrorIs(w.t, s.SetModel(w.t.Context(), "model-b"), fault.ErrSessionClosed)
				require.ErrorIs(w.t, s.Answer("q", event.Answer{}, "test"), fault.ErrQuestionNotFound)
				w.agents.Emit(s.ID(), event.TitleChanged{Title: "Letters"})
			},
			[]string{"- closed"},
		},
		{
			"a reopened session continues with its past", func(w *world, s *copilot.Session) {
				w.run(s, "a")
				s.Close()
				w.agents.Script = func(t *fake.Turn) {
					assert.Equal(w.t, []string{"a"}, t.Past)
					assert.True(w.t, t.Opening.Resume)
					fake.Echo(t)
				}
				require.NoError(w.t, s.Reopen(w.t.Context()))
				assert.Equal(w.t, copilot.StateIdle, s.Info().State)
				w.run(s, "b")
			},
			[]string{
				"r1 starts", "r1 user: a", "r1 says: a", "r1 completed", "- closed",
				"- opened with model-a", "r2 starts", "r2 user: b", "r2 says: b", "r2 completed",
			},
		},
		{
			"an open session cannot be reopened", func(w *world, s *copilot.Session) {
				require.ErrorIs(w.t, s.Reopen(w.t.Context()), fault.ErrSessionOpen)
			},
			[]string{},
		},
		{
			"a session that could not be reopened stays closed until it can", func(w *world, s *copilot.Session) {
				s.Close()
				w.agents.Before = fake.On(fake.Open, func(context.Context, fake.Call) error { return errors.New("broken") })
				require.Error(w.t, s.Reopen(w.t.Context()))
				assert.Equal(w.t, copilot.StateClosed, s.Info().State)
				s.Close()
				w.agents.Before = nil
				require.NoError(w.t, s.Reopen(w.t.Context()))
			},
			[]string{"- closed", "- opened with model-a"},
		},
		{
			"only one of many concurrent calls reopens it", func(w *world, s *copilot.Session) {
				s.Close()
				w.agents.Before = fake.On(fake.Open, func(context.Context, fake.Call) error {
					<-time.After(time.Second)
					return nil
				})
				var all sync.WaitGroup
				opened := make(chan bool, 20)
				for range 20 {
					all.Go(func() {
						err := s.Reopen(w.t.Context())
						opened <- err == nil
						if err != nil {
							assert.ErrorIs(w.t, err, fault.ErrSessionOpen)
						}
					})
				}
				all.Wait()
				close(opened)
				n := 0
				for ok := range opened {
					if ok {
						n++
					}
				}
				assert.Equal(w.t, 1, n)
				assert.Equal(w.t, 2, w.agents.Count(fake.Open))
				s.Close()
				wait(10 * time.Second)
				assert.Zero(w.t, w.agents.Running(), "a lease is still held")
			},
			[]string{"- closed", "- opened with model-a", "- closed"},
		},
		{
			"reopening waits for another call until its context ends", func(w *world, s *copilot.Session) {
				s.Close()
				w.agents.Before = fake.On(fake.Open, fake.HangForever)
				first, stopFirst := context.WithTimeout(w.t.Context(), 3*time.Second)
				defer stopFirst()
				go s.Reopen(first)
				synctest.Wait()
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(w.t, s.Reopen(ctx), context.DeadlineExceeded)
				wait(3 * time.Second)
			},
			[]string{"- closed"},
		},
		{
			"reopening waits for the close", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) { t.WaitIgnoringAbort(time.Second) }
				w.run(s, "a")
				go s.Close()
				synctest.Wait()
				require.NoError(w.t, s.Reopen(w.t.Context()))
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "- closed", "- opened with model-a"},
		},
		{
			"reopening waits for the close until its context ends", func(w *world, s *copilot.Session) {
				w.agents.Script = func(t *fake.Turn) { t.WaitIgnoringAbort(time.Hour) }
				w.run(s, "a")
				go s.Close()
				synctest.Wait()
				ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
				defer cancel()
				require.ErrorIs(w.t, s.Reopen(ctx), context.DeadlineExceeded)
				s.Close()
			},
			[]string{"r1 starts", "r1 user: a", "r1 cancelled", "- closed"},
		},
		{
			"reopening times out", func(w *world, s *copilot.Session) {
				s.Close()
				w.agents.Before = fake.On(fake.Open, fake.HangForever)
				require.Error(w.t, s.Reopen(w.t.Context()))
			},
			[]string{"- closed"},
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			s := w.start()
			tt.do(w, s)
			if tt.want != nil {
				assert.Equal(w.t, tt.want, story(w.t, s)[1:])
			}
		})
	}
}

func TestHostStart(t *testing.T) {
	tests := []struct {
		name  string
		start func(*copilot.Start)
		want  error
	}{
		{"a session without a model gets the first one", func(*copilot.Start) {}, nil},
		{"a session gets the requested model", func(s *copilot.Start) { s.Model = "model-b" }, nil},
		{"an unknown model is rejected", func(s *copilot.Start) { s.Model = "x" }, fault.ErrModelNotFound},
		{"the model is checked before the directory", func(s *copilot.Start) { s.Model, s.Directory = "x", "y" }, fault.ErrModelNotFound},
		{"a relative directory is rejected", func(s *copilot.Start) { s.Directory = "y" }, fault.ErrDirectoryNotAbsolute},
		{"an empty directory is rejected", func(s *copilot.Start) { s.Directory = "" }, fault.ErrDirectoryNotAbsolute},
		{"a missing directory is rejected", func(s *copilot.Start) { s.Directory = "/no/such/directory" }, fault.ErrDirectoryNotFound},
		{"a file is rejected", func(s *copilot.Start) { s.Directory = filepath.Join(s.Directory, "file") }, fault.ErrDirectoryNotFound},
		{"a name with a zero byte is rejected", func(s *copilot.Start) { s.Directory += "\x00" }, fault.ErrDirectoryNotFound},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			writeFile(w.t, filepath.Join(w.directory, "file"))
			start := copilot.Start{Origin: "test", Directory: w.directory}
			tt.start(&start)
			s, err := w.host.Start(w.t.Context(), start)
			require.ErrorIs(w.t, err, tt.want)
			assert.Equal(w.t, err == nil, s != nil)
			if err != nil {
				assert.Empty(w.t, w.listed())
				wait(10 * time.Second)
				assert.Zero(w.t, w.agents.Running(), "a lease is still held")
			}
		})
	}
}

func TestHost(t *testing.T) {
	tests := []struct {
		name    string
		options copilot.Options
		do      func(*world)
	}{
		{"nothing is started before it is needed", copilot.Options{}, func(w *world) {
			assert.Empty(w.t, w.listed())
			assert.Equal(w.t, agent.HealthUnknown, w.host.Health().State)
			assert.Zero(w.t, w.agents.Count(fake.Launch))
		}},
		{"models are listed without a session", copilot.Options{}, func(w *world) {
			models, err := w.host.Models(w.t.Context())
			require.NoError(w.t, err)
			assert.Equal(w.t, w.agents.Models, models)
			assert.Equal(w.t, agent.HealthReady, w.host.Health().State)
			wait(10 * time.Second)
			assert.Zero(w.t, w.agents.Running())
		}},
		{"the default is listed first", copilot.Options{Model: "model-b"}, func(w *world) {
			models, err := w.host.Models(w.t.Context())
			require.NoError(w.t, err)
			assert.Equal(w.t, []agent.Model{w.agents.Models[1], w.agents.Models[0]}, models)
		}},
		{"without an agent there are no models and no sessions", copilot.Options{}, func(w *world) {
			w.agents.Before = fake.On(fake.Launch, func(context.Context, fake.Call) error { return errors.New("broken") })
			_, err := w.host.Models(w.t.Context())
			assert.Equal(w.t, fault.Unavailable, fault.KindOf(err))
			_, err = w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
			assert.Equal(w.t, fault.Unavailable, fault.KindOf(err))
			assert.Equal(w.t, agent.HealthFailed, w.host.Health().State)
		}},
		{"an agent that lists no models starts no session", copilot.Options{}, func(w *world) {
			w.agents.Models = nil
			_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
			require.ErrorIs(w.t, err, fault.ErrModelNotFound)
			w.agents.Before = fake.On(fake.Models, func(context.Context, fake.Call) error { return errors.New("broken") })
			_, err = w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
			require.ErrorContains(w.t, err, "broken")
		}},
		{"a session needs one place in the pool", copilot.Options{Pool: agent.PoolOptions{Size: 4, PerProcess: 1}}, func(w *world) {
			w.start()
			assert.Equal(w.t, 1, w.agents.Count(fake.Launch))
			w.start()
			assert.Equal(w.t, 2, w.agents.Count(fake.Launch))
		}},
		{"a session is found by its id, open or closed", copilot.Options{}, func(w *world) {
			s := w.start()
			found, err := w.host.Session(w.t.Context(), s.ID())
			require.NoError(w.t, err)
			assert.Same(w.t, s, found)
			s.Close()
			found, err = w.host.Session(w.t.Context(), s.ID())
			require.NoError(w.t, err)
			assert.Same(w.t, s, found)
			_, err = w.host.Session(w.t.Context(), "x")
			require.ErrorIs(w.t, err, fault.ErrSessionNotFound)
		}},
		{"sessions are listed, the newest first", copilot.Options{}, func(w *world) {
			var want []string
			for range 5 {
				want = append([]string{w.start().ID()}, want...)
				wait(time.Second)
			}
			var got []string
			for _, i := range w.listed() {
				got = append(got, i.ID)
			}
			assert.Equal(w.t, want, got)
		}},
		{"the newest closed sessions stay listed", copilot.Options{MaxClosed: 2}, func(w *world) {
			open := w.start()
			var closed []*copilot.Session
			for range 5 {
				wait(time.Second)
				closed = append(closed, w.start())
			}
			for _, s := range closed {
				s.Close()
			}
			var got []string
			for _, i := range w.listed() {
				got = append(got, i.ID)
			}
			assert.Equal(w.t, []string{closed[4].ID(), closed[3].ID(), open.ID()}, got)
		}},
		{"a reopened session is listed again", copilot.Options{MaxClosed: 1}, func(w *world) {
			first := w.start()
			first.Close()
			wait(time.Second)
			for range 2 {
				w.start().Close()
				wait(time.Second)
			}
			_, err := w.host.Session(w.t.Context(), first.ID())
			require.ErrorIs(w.t, err, fault.ErrSessionNotFound)
			require.NoError(w.t, first.Reopen(w.t.Context()))
			_, err = w.host.Session(w.t.Context(), first.ID())
			require.NoError(w.t, err)
		}},
		{"the process is stopped some time after the last session closed", copilot.Options{}, func(w *world) {
			s, other := w.start(), w.start()
			s.Close()
			wait(time.Hour)
			assert.Equal(w.t, 1, w.agents.Running())
			other.Close()
			wait(10 * time.Second)
			assert.Zero(w.t, w.agents.Running())
		}},
		{"sessions can be started concurrently", copilot.Options{}, func(w *world) {
			w.agents.Before = fake.SlowLaunch(time.Second)
			var all sync.WaitGroup
			for range 50 {
				all.Go(func() {
					_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
					assert.NoError(w.t, err)
				})
			}
			all.Wait()
			assert.Len(w.t, w.listed(), 50)
			assert.Equal(w.t, 1, w.agents.Count(fake.Launch))
		}},
		{"a start that hangs ends with its context", copilot.Options{}, func(w *world) {
			w.agents.Before = fake.On(fake.Open, fake.HangForever)
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
			defer cancel()
			_, err := w.host.Start(ctx, copilot.Start{Directory: w.directory})
			assert.Equal(w.t, fault.Timeout, fault.KindOf(err))
			wait(10 * time.Second)
			assert.Zero(w.t, w.agents.Running(), "a lease is still held")
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, tt.options, tt.do)
	}
}

func TestHostClose(t *testing.T) {
	closeWithin := func(w *world, d time.Duration) {
		w.t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		began := time.Now()
		w.host.Close(ctx)
		assert.LessOrEqual(w.t, time.Since(began), d)
		assert.Zero(w.t, w.agents.Running())
	}
	tests := []struct {
		name string
		do   func(*world)
	}{
		{"closing ends sessions, records and processes", func(w *world) {
			w.agents.Script = untilAborted
			s, busy := w.start(), w.start()
			w.run(busy, "a")
			closeWithin(w, time.Second)
			assert.Equal(w.t, []string{"- opened with model-a", "- closed"}, story(w.t, s))
			assert.Equal(w.t, []string{
				"- opened with model-a", "r1 starts", "r1 user: a", "r1 says: I begin", "r1 cancelled", "- closed",
			}, story(w.t, busy))
			assert.Zero(w.t, w.agents.Running())
		}},
		{"closing twice is harmless", func(w *world) {
			w.start()
			closeWithin(w, time.Second)
			closeWithin(w, time.Second)
		}},
		{"nothing can be started or reopened afterwards", func(w *world) {
			s := w.start()
			closeWithin(w, time.Second)
			_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
			require.ErrorIs(w.t, err, fault.ErrStopping)
			_, err = w.host.Models(w.t.Context())
			require.ErrorIs(w.t, err, fault.ErrStopping)
			require.ErrorIs(w.t, s.Reopen(w.t.Context()), fault.ErrStopping)
			assert.Len(w.t, w.listed(), 1)
		}},
		{"an agent that hangs is killed in time", func(w *world) {
			w.agents.Script = func(t *fake.Turn) { t.WaitIgnoringAbort(time.Hour) }
			for range 5 {
				w.run(w.start(), "a")
			}
			w.agents.Before = fake.HangForever
			closeWithin(w, 1500*time.Millisecond)
		}},
		{"closing cancels a start", func(w *world) {
			w.agents.Before = fake.On(fake.Launch, fake.HangForever)
			failed := make(chan error)
			go func() {
				_, err := w.host.Start(context.Background(), copilot.Start{Directory: w.directory})
				failed <- err
			}()
			synctest.Wait()
			closeWithin(w, time.Second)
			require.ErrorIs(w.t, <-failed, fault.ErrStopping)
		}},
		{"a session that is being started is dropped", func(w *world) {
			w.agents.Before = fake.On(fake.Open, fake.HangForever)
			failed := make(chan error)
			go func() {
				_, err := w.host.Start(context.Background(), copilot.Start{Directory: w.directory})
				failed <- err
			}()
			synctest.Wait()
			closeWithin(w, time.Second)
			require.Error(w.t, <-failed)
			assert.Empty(w.t, w.listed())
		}},
		{"a session that is being reopened is closed", func(w *world) {
			s := w.start()
			s.Close()
			w.agents.Before = fake.On(fake.Open, func(context.Context, fake.Call) error {
				go w.host.Close(context.Background())
				synctest.Wait()
				return nil
			})
			go func() { assert.Error(w.t, s.Reopen(context.Background())) }()
			wait(time.Minute)
			assert.Equal(w.t, copilot.StateClosed, s.Info().State)
		}},
		{"a session that is being reopened on a running process is closed", func(w *world) {
			s := w.start()
			s.Close()
			w.closesDuringOpen()
			require.ErrorIs(w.t, s.Reopen(w.t.Context()), fault.ErrStopping)
			assert.Equal(w.t, copilot.StateClosed, s.Info().State)
			wait(time.Minute)
		}},
		{"a session that is being started on a running process is dropped", func(w *world) {
			w.closesDuringOpen()
			_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
			require.ErrorIs(w.t, err, fault.ErrStopping)
			assert.Empty(w.t, w.listed())
			wait(time.Minute)
		}},
		{"a session that waits for its process is closed", func(w *world) {
			s := w.start()
			w.loseProcess()
			w.agents.Before = fake.On(fake.Launch, fake.HangForever)
			w.run(s, "a")
			closeWithin(w, time.Second)
		}},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, tt.do)
	}
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
}

// closesDuringOpen makes the host close while a conversation opens, which
// succeeds, because the process ends slowly.
func (w *world) closesDuringOpen() {
	w.agents.Before = func(ctx context.Context, c fake.Call) error {
		if c.Method == fake.Stop {
			return fake.HangForever(ctx, c)
		}
		if c.Method != fake.Open {
			return nil
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			w.host.Close(ctx)
		}()
		synctest.Wait()
		return nil
	}
}
