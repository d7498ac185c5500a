package operation_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
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
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs/operation"
)

func (p *portal) get(id string) *operation.Operation {
	p.t.Helper()
	o, err := p.host.Get(context.Background(), id)
	require.NoError(p.t, err)
	return o
}

func (p *portal) knows(id string) bool {
	p.t.Helper()
	_, err := p.host.Get(context.Background(), id)
	if err != nil {
		assert.Equal(p.t, fault.NotFound, fault.KindOf(err), "%v", err)
	}
	list, failed := p.host.List(context.Background(), 0)
	require.NoError(p.t, failed)
	listed := false
	for _, i := range list {
		listed = listed || i.ID == id
	}
	assert.Equal(p.t, err == nil, listed, "listed operations can be read")
	return err == nil
}

func TestMessageIsStoredBeforeItIsRead(t *testing.T) {
	stored(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			for i := range 50 {
				t.Say(fmt.Sprintf("Line %d.", i))
				if i%7 == 0 {
					t.Wait(time.Millisecond)
				}
			}
		}
		o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		for after := -1; ; {
			list, err := o.Next(context.Background(), after, 0)
			if err == io.EOF { //nolint:errorlint // it is not wrapped
				break
			}
			require.NoError(t, err)
			kept, err := p.store.Lines(context.Background(), "operation", o.Info().ID, uint64(after+1), 0)
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(kept), len(list))
			for i, m := range list {
				assert.Equal(t, string(m.Frame), string(kept[i]))
			}
			after = list[len(list)-1].Sequence
		}
		assert.Len(t, all(p.t, o), 51)
	})
}

func TestOperationSurvivesRestart(t *testing.T) {
	onMachine(t, func(m *machine) {
		first := m.open()
		m.agents.Script = reports("report_questions", oneQuestion)
		o, before := first.do(operation.Request{Feature: "003", Document: "x"})
		info := o.Info()
		first.stop()

		second := m.open()
		defer second.stop()
		require.NoError(m.t, second.host.Recover(context.Background()))
		again := second.get(info.ID)
		assert.Equal(t, before, all(m.t, again), "messages are identical")
		assert.Equal(t, before[1:], rest(m.t, again, 0))
		assert.JSONEq(t, string(info.Result), string(again.Info().Result))
		assert.Equal(t, operation.Completed, again.Info().Status)
		require.NoError(t, again.Cancel(context.Background()), "the operation has ended")
		list, err := second.host.List(context.Background(), 0)
		require.NoError(m.t, err)
		require.Len(t, list, 1)
		assert.Equal(t, info.Session, list[0].Session)
	})
}

func TestOperationsOfKilledPortalAreInterrupted(t *testing.T) {
	onMachine(t, func(m *machine) {
		first := m.open()
		m.agents.Script = func(t *fake.Turn) { t.Say("One.\nTwo."); t.WaitForAbort() }
		o := first.start(operation.Request{Feature: "003", Document: "x"})
		wait(time.Second)
		before := present(m.t, o, -1)
		require.Len(t, before, 2)
		id := o.Info().ID
		first.kill()

		second := m.open()
		defer second.stop()
		require.NoError(m.t, second.host.Recover(context.Background()))
		require.NoError(m.t, second.host.Recover(context.Background()), "a second call changes nothing")
		again := second.get(id)
		list := all(m.t, again)
		assert.Equal(t, []string{
			"execution: One.", "execution: Two.", "error: The portal ended while the operation ran.", "complete: Operation interrupted.",
		}, story(list))
		assert.Equal(t, before, list[:2], "clients already have these")
		assert.Equal(t, operation.Interrupted, again.Info().Status)
		assert.Equal(t, "Operation interrupted.", again.Info().Note)
		second.start(operation.Request{Feature: "003", Document: "x"})
	})
}

// A question in the session of an abandoned operation would be continued by its answer, though no one
// follows the session.
func TestCancelClosesOpenQuestions(t *testing.T) {
	onMachine(t, func(m *machine) {
		open := func() *portal {
			s, err := store.Open(context.Background(), store.Options{Directory: m.data})
			require.NoError(m.t, err)
			return m.portal(s, operation.Options{Policy: permission.Everywhere(permission.Ask)})
		}
		first := open()
		m.agents.Script = func(t *fake.Turn) {
			t.Ask(event.Question{Names: []string{permission.Exec}, Title: "Run a command"})
		}
		o := first.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		wait(time.Minute)
		info := o.Info()
		first.kill()

		second := open()
		defer second.stop()
		require.NoError(m.t, second.host.Recover(context.Background()))
		wait(time.Minute)
		s, err := second.sessions.Session(context.Background(), info.Session)
		require.NoError(m.t, err)
		assert.Equal(t, copilot.StateIdle, s.Info().State)
		for _, q := range questions(m.t, s) {
			assert.False(t, s.HasOpenQuestion(q.ID))
		}
	})
}

func TestOperationsOfOtherPortalsAreFollowed(t *testing.T) {
	onMachine(t, func(m *machine) {
		first, second := m.open(), m.open()
		defer second.stop()
		m.agents.Script = func(t *fake.Turn) {
			for i := range 5 {
				t.Say(fmt.Sprint(i))
				t.Wait(time.Second)
			}
			t.WaitForAbort()
		}
		o := first.start(operation.Request{Feature: "003", Document: "x"})
		there := second.get(o.Info().ID)
		assert.Equal(t, fault.Busy, fault.KindOf(there.Cancel(context.Background())))
		_, err := second.host.Start(context.Background(), operation.Request{Type: operation.Clarify, Feature: "003", Document: "x"})
		assert.Equal(t, fault.Busy, fault.KindOf(err))
		require.NoError(m.t, second.host.Recover(context.Background()), "the first portal still runs it")
		for i := range 5 {
			list, err := there.Next(context.Background(), i-1, 0)
			require.NoError(m.t, err)
			assert.Equal(t, fmt.Sprint(i), list[0].Content)
			assert.Less(t, time.Since(list[0].Time), 300*time.Millisecond)
		}
		assert.Empty(t, present(m.t, there, 4))
		assert.Equal(t, operation.Running, there.Info().Status)
		assert.Equal(t, 4, there.Last())
		waiting, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = there.Next(waiting, 4, 0)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		first.kill() // a reader makes the second portal finalize it
		assert.Equal(t, "error: The portal ended while the operation ran.", story(all(m.t, there))[5])
	})
}

// forsake makes all portals of the machine look dead to later ones, like a portal that was
// suspended for too long.
func (m *machine) forsake() {
	m.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(m.data, "sessions.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(m.t, err)
	defer db.Close()
	_, err = db.ExecContext(context.Background(), "UPDATE owner SET start = '1'")
	require.NoError(m.t, err)
}

func TestAdoptedOperationIsReadFromStore(t *testing.T) {
	onMachine(t, func(m *machine) {
		first := m.open()
		m.agents.Script = func(t *fake.Turn) { t.Say("One."); t.Wait(time.Minute); t.Say("Two."); t.WaitForAbort() }
		o := first.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		wait(time.Second)
		m.forsake()

		second := m.open()
		defer second.stop()
		defer first.stop()
		require.NoError(m.t, second.host.Recover(context.Background()))
		want := []string{"execution: One.", "error: The portal ended while the operation ran.", "complete: Operation interrupted."}
		assert.Equal(t, want, story(all(m.t, second.get(o.Info().ID))))
		assert.Equal(t, want, story(all(m.t, o)), "the message Two is not reported")
	})
}

func TestOperationsExpire(t *testing.T) {
	for name, open := range map[string]func(*machine) *portal{
		"in memory": func(m *machine) *portal { return m.portal(nil, operation.Options{}) },
		"stored":    (*machine).open,
	} {
		t.Run(name, func(t *testing.T) {
			onMachine(t, func(m *machine) {
				p := open(m)
				m.agents.Script = func(t *fake.Turn) { t.Wait(20 * time.Minute); t.Say("Done.") }
				o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
				id := o.Info().ID
				wait(19 * time.Minute)
				assert.True(t, p.knows(id), "running operations are kept")
				list := all(m.t, o)
				wait(10*time.Minute - time.Second)
				assert.True(t, p.knows(id))
				wait(time.Second)
				assert.False(t, p.knows(id))
				wait(3 * time.Minute)
				if p.store != nil {
					left, err := p.store.Activities(context.Background(), "operation", 10)
					require.NoError(m.t, err)
					assert.Empty(t, left)
				}
				assert.Equal(t, list, rest(m.t, o, -1), "existing readers can continue")
				p.stop()
			})
		})
	}
}

func TestStoreFailureEndsOperation(t *testing.T) {
	onMachine(t, func(m *machine) {
		s, err := store.Open(context.Background(), store.Options{Directory: m.data, Busy: time.Millisecond})
		require.NoError(m.t, err)
		first := m.portal(s, operation.Options{})
		m.agents.Script = func(t *fake.Turn) { t.Say("One."); t.Wait(time.Minute); t.Say("Two."); t.WaitForAbort() }
		o := first.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		wait(time.Second)
		free := m.lock()
		_, err = first.host.Start(context.Background(), operation.Request{Type: operation.Prompt, Prompt: "x"})
		assert.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
		list := all(m.t, o)
		assert.Contains(t, story(list)[1], "error: cannot store the messages: ")
		assert.Len(t, list, 3, "unstored messages are not reported")
		assert.Equal(t, operation.Failed, o.Info().Status)
		free()
		wait(2 * time.Minute) // its end is stored after all
		first.stop()

		second := m.open()
		defer second.stop()
		assert.Equal(t, list, all(m.t, second.get(o.Info().ID)))
	})
}

func TestEndIsStoredAfterOutageThatOutlastsRetention(t *testing.T) {
	onMachine(t, func(m *machine) {
		s, err := store.Open(context.Background(), store.Options{Directory: m.data, Busy: time.Millisecond})
		require.NoError(m.t, err)
		p := m.portal(s, operation.Options{})
		defer p.stop()
		m.agents.Script = func(t *fake.Turn) { t.Say("One."); t.Wait(time.Minute); t.Say("Two."); t.WaitForAbort() }
		o := p.start(operation.Request{Feature: "003", Document: "x"})
		wait(time.Second)
		free := m.lock()
		all(m.t, o)
		wait(15 * time.Minute)
		free()
		wait(time.Minute)
		assert.False(t, p.knows(o.Info().ID), "it is over")
		p.start(operation.Request{Feature: "003", Document: "x"})
		wait(15 * time.Minute)
		list, err := p.store.Activities(context.Background(), "operation", 10)
		require.NoError(m.t, err)
		assert.Len(t, list, 1, "only the second is left")
	})
}

func TestOperationEndsThoughDatabaseWasEmptied(t *testing.T) {
	stored(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.Say("One."); t.Wait(time.Minute); t.Say("Two."); t.WaitForAbort() }
		o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		wait(time.Second)
		db, err := sql.Open("sqlite", filepath.Join(p.data, "sessions.db"))
		require.NoError(t, err)
		_, err = db.ExecContext(context.Background(), "DELETE FROM activity")
		require.NoError(t, err)
		require.NoError(t, db.Close())
		list := all(t, o)
		require.Len(t, list, 3)
		assert.Equal(t, "execution: One.", story(list)[0])
		assert.Equal(t, operation.Error, list[1].Type)
		wait(5 * time.Minute)
		assert.Equal(t, list, all(t, p.get(o.Info().ID)), "a later reader gets it, too")
	})
}

// lock prevents portals from writing.
func (m *machine) lock() (free func()) {
	m.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(m.data, "sessions.db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	require.NoError(m.t, err)
	tx, err := db.BeginTx(context.Background(), nil)
	require.NoError(m.t, err)
	return func() {
		assert.NoError(m.t, tx.Rollback())
		assert.NoError(m.t, db.Close())
	}
}

func TestStoppedPortalStartsNothing(t *testing.T) {
	onMachine(t, func(m *machine) {
		p := m.open()
		p.stop()
		_, err := p.host.Start(context.Background(), operation.Request{Type: operation.Prompt, Prompt: "x"})
		assert.Equal(t, fault.Unavailable, fault.KindOf(err), "%v", err)
	})
}

// Readers come and go while messages arrive; each gets every message once and in order.
func TestManyReadersGetEachMessageOnceInOrder(t *testing.T) {
	for name, world := range map[string]func(*testing.T, func(*portal)){"in memory": inMemory, "stored": stored} {
		t.Run(name, func(t *testing.T) {
			world(t, func(p *portal) {
				p.agents.Script = func(t *fake.Turn) {
					for i := range 200 {
						t.Say(fmt.Sprintf("Line %d.", i))
						t.Wait(time.Duration(rand.IntN(2)) * time.Millisecond)
					}
				}
				o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
				read := make([][]operation.Message, 40)
				var readers sync.WaitGroup
				for i := range read {
					readers.Go(func() { read[i] = interrupted(o) })
				}
				readers.Wait()
				want := all(p.t, o)
				assert.Len(t, want, 201)
				for _, got := range read {
					assert.Equal(t, want, got)
				}
				synctest.Wait()
			})
		})
	}
}

// interrupted reads to the end, a few messages at a time, with pauses and reads that do
// not wait.
func interrupted(o *operation.Operation) (list []operation.Message) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(20))*time.Millisecond)
		some, err := o.Next(ctx, len(list)-1, 1+rand.IntN(7))
		cancel()
		if err == io.EOF { //nolint:errorlint // it is not wrapped
			return list
		}
		list = append(list, some...)
		time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
	}
}
