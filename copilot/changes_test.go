package copilot_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
)

// editing is a script that appends its prompt to a file of the session's directory, with permission, and keeps the agent
// busy if the prompt says "wait".
func editing(name string) func(*fake.Turn) {
	return func(t *fake.Turn) {
		a, ok := t.Ask(event.Question{Kind: event.AskPermission, Names: []string{permission.Write}, Title: "Write"})
		if !ok || !a.Approved {
			return
		}
		path := filepath.Join(t.Opening.Directory, name)
		old, _ := os.ReadFile(path)
		_ = os.WriteFile(path, append(old, (t.Prompt+"\n")...), 0o600)
		if strings.HasPrefix(t.Prompt, "wait") {
			t.WaitForAbort()
		}
	}
}

// withCheckpoints returns options with checkpoints. The caller must close them after the host.
func withCheckpoints(t *testing.T, root string) copilot.Options {
	t.Helper()
	return copilot.Options{Checkpoints: checkpoint.New(checkpoint.Options{Root: root}), Policy: permission.Policy{permission.Write: permission.Allow}}
}

func (h *home) write(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.work, name), []byte(text), 0o600))
}

func (h *home) read(name string) string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.work, name))
	require.NoError(h.t, err)
	return string(data)
}

// runTo starts a run and waits until the agent is idle, or waits.
func runTo(t *testing.T, s *copilot.Session, text string) (run string) {
	t.Helper()
	run, err := s.Prompt(event.Prompt{Text: text})
	require.NoError(t, err)
	synctest.Wait()
	require.Eventually(t, func() bool { return s.Info().State == copilot.StateIdle || strings.HasPrefix(text, "wait") }, longWait, tick)
	synctest.Wait()
	return run
}

func restoredEvents(t *testing.T, s *copilot.Session) (list []event.FilesRestored) {
	t.Helper()
	for _, e := range past(t, s) {
		if b, ok := e.Value.Body.(event.FilesRestored); ok {
			list = append(list, b)
		}
	}
	return list
}

func TestChangesOfRunsAreListedAndReverted(t *testing.T) {
	atHome(t, "with a store", func(h *home) {
		t := h.t
		o := withCheckpoints(h.t, filepath.Join(h.directory, "checkpoints"))
		defer o.Checkpoints.Close()
		p := h.portalWith(o)
		defer p.stop()
		h.agents.Script = editing("a.txt")
		h.write("a.txt", "first\n")
		s := p.start()
		one := runTo(t, s, "one")
		h.write("a.txt", "person\n"+h.read("a.txt"))
		h.write("person.txt", "mine\n")
		two := runTo(t, s, "two")

		all, err := s.Changes(t.Context(), "")
		require.NoError(t, err)
		require.Len(t, all.Runs, 2)
		assert.Equal(t, []string{one, two}, []string{all.Runs[0].Run, all.Runs[1].Run})
		assert.Equal(t, 1, all.Runs[1].Added)
		require.Len(t, all.Files, 1, "what the person changed is not listed")
		assert.True(t, all.Files[0].Also)
		assert.Nil(t, all.Undo)
		d, err := s.Diff(t.Context(), one, "a.txt")
		require.NoError(t, err)
		require.Len(t, d.Hunks, 1)
		assert.Equal(t, checkpoint.Line{Kind: '+', Text: "one"}, d.Hunks[0].Lines[1])

		r, err := s.Revert(t.Context(), two, checkpoint.Selection{Path: "a.txt"}, "test")
		require.NoError(t, err)
		assert.Equal(t, "person\nfirst\none\n", h.read("a.txt"))
		changes, err := s.Changes(t.Context(), two)
		require.NoError(t, err)
		assert.Equal(t, checkpoint.Reverted, changes.Files[0].State)
		assert.Equal(t, r.ID, changes.Undo.ID)

		_, _, err = s.Restore(t.Context(), copilot.Restore{Run: one, By: "test"})
		require.NoError(t, err)
		assert.Equal(t, "first\n", h.read("a.txt"))
		assert.NoFileExists(t, filepath.Join(h.work, "person.txt"))
		_, err = s.Undo(t.Context(), "", "test")
		require.NoError(t, err)
		assert.Equal(t, "mine\n", h.read("person.txt"))
		_, err = s.Undo(t.Context(), r.ID, "other")
		require.NoError(t, err)
		assert.Equal(t, "person\nfirst\none\ntwo\n", h.read("a.txt"))

		list := restoredEvents(t, s)
		require.Len(t, list, 4)
		assert.Equal(t, event.FilesRestored{ID: r.ID, Kind: event.RestoreRevert, Target: two, By: "test", Paths: []string{"a.txt"}, Files: 1}, list[0])
		assert.Equal(t, event.RestoreState, list[1].Kind)
		assert.Equal(t, list[1].ID, list[2].Undoes)
		assert.Equal(t, "other", list[3].By)

		_, fork, err := s.Restore(t.Context(), copilot.Restore{Run: two, Paths: []string{"a.txt"}, Fork: true, By: "test"})
		require.NoError(t, err)
		assert.Equal(t, "person\nfirst\none\n", h.read("a.txt"))
		of, err := fork.Changes(t.Context(), "")
		require.NoError(t, err)
		require.Len(t, of.Runs, 1, "the fork ends before the second run")
		assert.Equal(t, one, of.Runs[0].Run)
		_, fork, err = s.Restore(t.Context(), copilot.Restore{Run: "unknown", Fork: true})
		require.ErrorIs(t, err, fault.ErrRunNotFound)
		assert.Nil(t, fork)
	})
}

func TestCredentialsInDiffsAreMasked(t *testing.T) {
	atHome(t, "", func(h *home) {
		t := h.t
		o := withCheckpoints(h.t, filepath.Join(h.directory, "checkpoints"))
		defer o.Checkpoints.Close()
		p := h.portalWith(o)
		defer p.stop()
		token, key := "ghp_"+strings.Repeat("a1B2", 9), strings.Repeat("MIIEvQ7x", 8)
		begin, end := "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
		h.agents.Script = editing("a.txt")
		h.write("a.txt", "token "+token+"\n"+strings.Repeat("  line\n", 10))
		s := p.start()
		run := runTo(t, s, strings.Join([]string{"plain", "new " + token, begin, key, end, "after", "const x = " + begin, "use(x)", "word", begin, key}, "\n"))
		d, err := s.Diff(t.Context(), run, "a.txt")
		require.NoError(t, err)
		require.Len(t, d.Hunks, 1)
		shown := d.Hunks[0].Section
		for _, l := range d.Hunks[0].Lines {
			shown += "\n" + l.Text
		}
		assert.NotContains(t, shown, token)
		assert.NotContains(t, shown, key[:16])
		assert.Contains(t, shown, "token ghp_…masked\n  line", "the section")
		assert.Contains(t, shown, "plain\nnew ghp_…masked\n")
		assert.Contains(t, shown, "\nafter\n")
		assert.Contains(t, shown, "\nuse(x)\nword\n")

		_, err = s.Revert(t.Context(), run, checkpoint.Selection{Path: "a.txt", Hunk: d.Hunks[0].ID}, "test")
		require.NoError(t, err)
		assert.NotContains(t, h.read("a.txt"), "plain")
		h.agents.Script = func(turn *fake.Turn) { editing("a.txt")(turn); h.write("key", key+"\n"+end+"\nafter\n") }
		run = runTo(t, s, "two")
		d, err = s.Diff(t.Context(), run, "key")
		require.NoError(t, err)
		assert.Equal(t, []checkpoint.Line{{Kind: '+', Text: "…masked"}, {Kind: '+', Text: end}, {Kind: '+', Text: "after"}}, d.Hunks[0].Lines, "the key began before the hunk")
	})
}

func TestFilesAreNotRestoredWhileRunWorks(t *testing.T) {
	atHome(t, "", func(h *home) {
		t := h.t
		o := withCheckpoints(h.t, filepath.Join(h.directory, "checkpoints"))
		defer o.Checkpoints.Close()
		p := h.portalWith(o)
		defer p.stop()
		h.agents.Script = editing("a.txt")
		s := p.start()
		run := runTo(t, s, "wait")
		require.Eventually(t, func() bool {
			c, err := s.Changes(t.Context(), run)
			return assert.NoError(t, err) && len(c.Files) == 1 && c.Runs[0].Working
		}, longWait, tick)
		_, err := s.Revert(t.Context(), run, checkpoint.Selection{}, "test")
		require.ErrorIs(t, err, fault.ErrBusy)
		_, err = s.Undo(t.Context(), "", "test")
		require.ErrorIs(t, err, fault.ErrBusy)
		require.NoError(t, s.Cancel(run))
		synctest.Wait()
		_, err = s.Revert(t.Context(), run, checkpoint.Selection{}, "test")
		require.NoError(t, err)
		assert.NoFileExists(t, filepath.Join(h.work, "a.txt"))
	})
}

func TestFilesAreNotRestoredWhileAnotherSessionWorksThere(t *testing.T) {
	atHome(t, "", func(h *home) {
		t := h.t
		o := withCheckpoints(h.t, filepath.Join(h.directory, "checkpoints"))
		defer o.Checkpoints.Close()
		p := h.portalWith(o)
		defer p.stop()
		h.agents.Script = editing("a.txt")
		s := p.start()
		run := runTo(t, s, "one")
		below, beside := filepath.Join(h.work, "below"), h.work+"-beside"
		for _, dir := range []string{below, beside} {
			require.NoError(t, os.Mkdir(dir, 0o700))
		}
		for _, dir := range []string{h.work, below, beside} {
			other, err := p.host.Start(t.Context(), copilot.Start{Origin: "test", Directory: dir})
			require.NoError(t, err)
			working := runTo(t, other, "wait")
			_, err = s.Undo(t.Context(), "", "test")
			if dir == beside {
				assert.Equal(t, fault.NotFound, fault.KindOf(err), "other files are not in the way")
				continue
			}
			assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
			require.ErrorContains(t, err, other.ID())
			_, err = s.Revert(t.Context(), run, checkpoint.Selection{}, "test")
			assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
			_, _, err = s.Restore(t.Context(), copilot.Restore{Run: run})
			assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
			require.NoError(t, other.Cancel(working))
			synctest.Wait()
		}
		h.write("a.txt", "one\n")
		_, err := s.Revert(t.Context(), run, checkpoint.Selection{}, "test")
		require.NoError(t, err)
		assert.NoFileExists(t, filepath.Join(h.work, "a.txt"))
	})
}

func TestFilesAreNotRestoredWhileAnotherProcessWorksThere(t *testing.T) {
	atHome(t, "", func(h *home) {
		t := h.t
		root := filepath.Join(h.directory, "checkpoints")
		here, there := withCheckpoints(t, root), withCheckpoints(t, root)
		defer here.Checkpoints.Close()
		defer there.Checkpoints.Close()
		p, ide := h.portalWith(here), h.portalWith(there)
		defer p.stop()
		defer ide.stop()
		h.agents.Script = editing("a.txt")
		s := p.start()
		run := runTo(t, s, "one")
		beside := h.work + "-beside"
		require.NoError(t, os.Mkdir(beside, 0o700))
		for _, dir := range []string{h.work, beside} {
			other, err := ide.host.Start(t.Context(), copilot.Start{Origin: "test", Directory: dir})
			require.NoError(t, err)
			working := runTo(t, other, "wait")
			settle()
			_, err = s.Undo(t.Context(), "", "test")
			if dir == beside {
				assert.Equal(t, fault.NotFound, fault.KindOf(err), "other files are not in the way: %v", err)
				continue
			}
			assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
			require.ErrorContains(t, err, other.ID())
			_, err = s.Commit(t.Context(), []string{"a.txt"}, "half done", "")
			assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
			require.NoError(t, other.Cancel(working))
			settle()
		}
		h.write("a.txt", "one\n")
		_, err := s.Revert(t.Context(), run, checkpoint.Selection{}, "test")
		require.NoError(t, err, "the other session is idle")
	})
}

// aroundNodes is a cluster in which nothing happens.
type aroundNodes struct{ store.Cluster }

func (aroundNodes) Written(...string)                           {}
func (aroundNodes) Await(context.Context, string, uint64) error { return nil }
func (aroundNodes) CatchUp(context.Context) error               { return nil }
func (aroundNodes) IsMember(string) bool                        { return true }

func TestFilesAreRestoredWhileAnotherNodeWorksOnItsOwn(t *testing.T) {
	for name, shared := range map[string]string{"shared": "", "not shared": "-beside"} {
		atHome(t, name, func(h *home) {
			t := h.t
			h.options.Cluster = aroundNodes{}
			o := withCheckpoints(t, filepath.Join(h.directory, "checkpoints"))
			defer o.Checkpoints.Close()
			o.Directories = []string{h.work + shared}
			p, node := h.portalWith(o), h.portalWith(copilot.Options{})
			defer p.stop()
			defer node.stop()
			h.agents.Script = editing("a.txt")
			s, other := p.start(), node.start()
			runTo(t, other, "wait")
			settle() // it is stored
			h.change("UPDATE owner SET host = 'cluster/b' WHERE key = (SELECT owner FROM session WHERE id = ?)", other.ID())
			_, err := s.Undo(t.Context(), "", "test")
			want := fault.Busy
			if shared != "" {
				want = fault.NotFound
			}
			assert.Equal(t, want, fault.KindOf(err), "%v", err)
		})
	}
}

func TestPermissionWaitsForCheckpointButPromptDoesNot(t *testing.T) { // in real time, because git runs
	root, work := t.TempDir(), t.TempDir()
	o := withCheckpoints(t, root)
	agents := fake.New()
	o.Launch, o.Health = agents.Launch, agents.Health
	host := copilot.NewHost(o)
	defer o.Checkpoints.Close()
	defer agents.Close()
	defer host.Close(t.Context())
	asked, answered := make(chan struct{}), make(chan struct{})
	agents.Script = func(turn *fake.Turn) {
		close(asked)
		editing("a.txt")(turn)
		close(answered)
	}
	store, err := o.Checkpoints.Of(work)
	require.NoError(t, err)
	_, err = store.Take(t.Context(), "other", "a")
	require.NoError(t, err)
	locks, err := filepath.Glob(filepath.Join(root, "*", "lock"))
	require.NoError(t, err)
	lock, err := os.Open(locks[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)) // another process is at work

	s, err := host.Start(t.Context(), copilot.Start{Origin: "test", Directory: work})
	require.NoError(t, err)
	run, err := s.Prompt(event.Prompt{Text: "go"})
	require.NoError(t, err)
	<-asked
	select {
	case <-answered:
		require.Fail(t, "the agent was allowed to write before the checkpoint was taken")
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(t, lock.Close())
	<-answered
	require.Eventually(t, func() bool { return s.Info().State == copilot.StateIdle }, longWait, tick)
	c, err := s.Changes(t.Context(), run)
	require.NoError(t, err)
	assert.Len(t, c.Files, 1)
}

func TestCheckpointsSurviveKill(t *testing.T) {
	atHome(t, "", func(h *home) {
		t := h.t
		root := filepath.Join(h.directory, "checkpoints")
		o := withCheckpoints(h.t, root)
		p := h.portalWith(o)
		h.agents.Script = editing("a.txt")
		s := p.start()
		run := runTo(t, s, "wait")
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(h.work, "a.txt")); return err == nil }, longWait, tick)
		settle()
		p.kill()
		o.Checkpoints.Close()

		o = withCheckpoints(h.t, root)
		defer o.Checkpoints.Close()
		p = h.portalWith(o)
		defer p.stop()
		s = p.session(s.ID())
		c, err := s.Changes(t.Context(), run)
		require.NoError(t, err)
		require.Len(t, c.Files, 1)
		_, err = s.Revert(t.Context(), "", checkpoint.Selection{}, "test")
		require.NoError(t, err)
		assert.NoFileExists(t, filepath.Join(h.work, "a.txt"))
		assert.Len(t, restoredEvents(t, s), 1)

		fork, err := p.host.Fork(t.Context(), s.ID(), copilot.Cut{})
		require.NoError(t, err)
		c, err = fork.Changes(t.Context(), run)
		require.NoError(t, err)
		assert.Len(t, c.Runs, 1)
		require.NoError(t, fork.Close())
		require.NoError(t, p.host.Delete(t.Context(), s.ID()))
		require.NoError(t, p.host.Delete(t.Context(), fork.ID()))
		assert.Empty(t, refsIn(t, root))
		require.NoError(t, p.host.MaintainCheckpoints(t.Context()))
	})
}

func TestRestoreOfKilledProcessIsRecordedWhereItsSessionIs(t *testing.T) { // in real time, because of the sockets
	for name, open := range map[string]func(*home, copilot.Options) *portal{"by its holder": (*home).connectedPortal, "when its holder has ended": (*home).portalWith} {
		t.Run(name, func(t *testing.T) {
			h := connected(t)
			root := filepath.Join(h.directory, "checkpoints")
			here, there := withCheckpoints(t, root), withCheckpoints(t, root)
			defer here.Checkpoints.Close()
			defer there.Checkpoints.Close()
			p, holder := h.connectedPortal(here), open(h, there)
			defer p.stop()
			h.agents.Script = editing("a.txt")
			s := holder.start()
			run, err := s.Prompt(event.Prompt{Text: "one"})
			require.NoError(t, err)
			holder.eventually(func() bool { return s.Info().State == copilot.StateIdle }, "the run ends")
			_, err = s.Changes(t.Context(), run)
			require.NoError(t, err)
			p.eventually(func() bool {
				stored, err := p.host.Session(t.Context(), s.ID())
				return err == nil && stored.Info().Owner != 0
			}, "it is held")

			leavePlan(t, root, s.ID())
			err = p.host.RecoverFiles(t.Context())
			if name == "when its holder has ended" {
				require.ErrorIs(t, err, fault.ErrSessionInUse)
				holder.stop()
				err = p.host.RecoverFiles(t.Context())
				s = p.session(s.ID())
			} else {
				defer holder.stop()
			}
			require.NoError(t, err)
			list := restoredEvents(t, s)
			require.Len(t, list, 1)
			assert.Equal(t, "left", list[0].ID)
			leavePlan(t, root, s.ID()) // the answer was lost
			require.NoError(t, p.host.RecoverFiles(t.Context()))
			assert.Len(t, restoredEvents(t, s), 1, "it is recorded once")
		})
	}
}

// leavePlan leaves a plan of a killed process that has taken its last step.
func leavePlan(t *testing.T, root, session string) {
	t.Helper()
	refs, err := filepath.Glob(filepath.Join(root, "*", "git", "refs", "portal", session, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, refs)
	commit, err := os.ReadFile(refs[0])
	require.NoError(t, err)
	plan := fmt.Sprintf(`{"restored":{"session":%q,"kind":"revert","by":"test","id":"left"},"after":%q}`, session, strings.TrimSpace(string(commit)))
	store := filepath.Join(refs[0], "..", "..", "..", "..", "..")
	require.NoError(t, os.WriteFile(filepath.Join(store, "plan.json"), []byte(plan), 0o600))
}

func TestCheckpointsOutliveLostDatabase(t *testing.T) {
	for name, missing := range map[string]time.Duration{"is replaced": 0, "has been replaced": 72 * time.Hour} {
		atHome(t, name, func(h *home) {
			t := h.t
			h.options.Heartbeat = time.Hour // days have few
			root := filepath.Join(h.directory, "checkpoints")
			o := copilot.Options{Checkpoints: checkpoint.New(checkpoint.Options{Root: root, Missing: missing}), Policy: permission.Policy{permission.Write: permission.Allow}}
			defer o.Checkpoints.Close()
			h.agents.Script = editing("a.txt")
			before := h.portalWith(o)
			runTo(t, before.start(), "one")
			before.stop()
			if missing == 0 {
				p := h.portalWith(o)
				defer p.stop()
				removeDatabase(t, h)
				p.start()
				settle()
				require.NotNil(t, p.store.Failure())
				require.Equal(t, store.Replaced, p.store.Failure().Kind)
				require.NoError(t, p.host.MaintainCheckpoints(t.Context()))
				assert.NotEmpty(t, refsIn(t, root))
				return
			}
			removeDatabase(t, h)
			p := h.portalWith(o)
			defer p.stop()
			for range 2 {
				require.NoError(t, p.host.MaintainCheckpoints(t.Context()))
				assert.NotEmpty(t, refsIn(t, root))
				time.Sleep(71 * time.Hour)
			}
			require.NoError(t, p.host.MaintainCheckpoints(t.Context()))
			assert.Empty(t, refsIn(t, root))
		})
	}
}

func removeDatabase(t *testing.T, h *home) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(h.directory, "sessions.db*"))
	require.NoError(t, err)
	for _, name := range files {
		require.NoError(t, os.Remove(name))
	}
}

// refsIn returns the directories of the references of sessions.
func refsIn(t *testing.T, root string) []string {
	t.Helper()
	refs, err := filepath.Glob(filepath.Join(root, "*", "git", "refs", "portal", "*"))
	require.NoError(t, err)
	return refs
}

func TestMissingCheckpointsAreExplained(t *testing.T) {
	atHome(t, "", func(h *home) {
		t := h.t
		o := withCheckpoints(h.t, filepath.Join(h.directory, "checkpoints"))
		defer o.Checkpoints.Close()
		for name, change := range map[string]func(*copilot.Options){
			"they are turned off": func(o *copilot.Options) { o.Checkpoints = nil },
			"at the same time":    func(o *copilot.Options) { o.WithoutCheckpoints = []string{"test"} },
		} {
			other := o
			change(&other)
			p := h.portalWith(other)
			s := p.start()
			c, err := s.Changes(t.Context(), "")
			require.NoError(t, err)
			assert.Contains(t, c.Reason, name)
			_, err = s.Diff(t.Context(), "", "x")
			assert.Equal(t, fault.Unavailable, fault.KindOf(err))
			p.stop()
		}
		p := h.portalWith(o)
		defer p.stop()
		s := p.start()
		c, err := s.Changes(t.Context(), "")
		require.NoError(t, err)
		assert.Empty(t, c.Files)
		_, err = s.Changes(t.Context(), "unknown")
		require.ErrorIs(t, err, fault.ErrRunNotFound)
		_, err = s.Undo(t.Context(), "", "test")
		assert.Equal(t, fault.NotFound, fault.KindOf(err))
		require.NoError(t, os.RemoveAll(h.work))
		_, err = s.Changes(t.Context(), "")
		require.ErrorIs(t, err, fault.ErrDirectoryNotFound)
		_, err = s.Revert(t.Context(), "", checkpoint.Selection{}, "test")
		require.ErrorIs(t, err, fault.ErrDirectoryNotFound)
	})
}

const (
	longWait = 10 * time.Minute // of virtual time
	tick     = 10 * time.Millisecond
)
