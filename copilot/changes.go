package copilot

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/copilot-portal/portal/copilot/changes"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
)

// errNoCheckpoints says why there are no changes.
func errNoCheckpoints(why string) error {
	return fault.Errorf(fault.Unavailable, "there are no checkpoints of this session: %s", why)
}

// checkpointStore returns the store of the session's directory. Errors: [fault.ErrDirectoryNotFound], kind [fault.Unavailable].
func (s *Session) checkpointStore() (*checkpoint.Store, error) {
	switch {
	case s.host.options.Checkpoints == nil:
		return nil, errNoCheckpoints("they are turned off (checkpoints.enabled), or sessions are not stored")
	case !s.hasCheckpoints():
		return nil, errNoCheckpoints("jobs and operations work on the same files at the same time")
	}
	return s.host.options.Checkpoints.Of(s.directory)
}

// changesIn returns what the runs of the session changed according to a store, when the checkpoints that were started are taken.
func (s *Session) changesIn(ctx context.Context, store *checkpoint.Store) changes.Source {
	s.awaitCheckpoint(ctx)
	return changes.Source{Store: store, Session: s.id, Working: func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.machine.RunID()
	}}
}

// Changes returns what a run changed, or for "" what all runs of the session changed. Errors: [fault.ErrDirectoryNotFound],
// [fault.ErrRunNotFound].
func (s *Session) Changes(ctx context.Context, run string) (c changes.Changes, err error) {
	store, err := s.checkpointStore()
	if err == nil {
		c, err = s.changesIn(ctx, store).Changes(ctx, run)
	}
	if fault.KindOf(err) == fault.Unavailable {
		return changes.Changes{Reason: err.Error()}, nil
	}
	return c, err
}

// Diff returns the difference of a file that a run changed, or for "" all runs. Credentials are masked. path is that of its
// [changes.File]. Errors: those of [Session.Changes], kind [fault.Unavailable] if there are no checkpoints, kind [fault.NotFound] if it did
// not change.
func (s *Session) Diff(ctx context.Context, run, path string) (checkpoint.Diff, error) {
	store, err := s.checkpointStore()
	if err != nil {
		return checkpoint.Diff{}, err
	}
	return s.changesIn(ctx, store).Diff(ctx, run, path)
}

// Revert takes back the changes of a run, or for "" of all runs: all of them, or those of one file or hunk. Later changes of other
// lines stay. by names the dialect of the client.
//
// Errors, after which no file has changed: those of [Session.Diff], [fault.ErrBusy] while a run works,
// [checkpoint.ErrConflict] if later changes are in the way, kind [fault.NotFound] for a file or hunk that did not change.
func (s *Session) Revert(ctx context.Context, run string, which checkpoint.Selection, by string) (checkpoint.Restored, error) {
	return s.host.commands.revert.run(ctx, s, sentRevert{run, which, by})
}

func (s *Session) revertHere(ctx context.Context, r sentRevert) (checkpoint.Restored, error) {
	return s.restore(ctx, event.RestoreRevert, r.Run, r.By, func(store *checkpoint.Store, a checkpoint.Action, one checkpoint.Span) (checkpoint.Restored, error) {
		return store.Revert(ctx, a, newID(), one.From, one.To, r.Which)
	})
}

// Restore says what [Session.Restore] brings back.
type Restore struct {
	Run   string   // files become what they were when it started
	Paths []string // only these files, or those in these directories; empty: all
	Fork  bool     // the conversation goes on in a fork that ends before the run; otherwise it stays
	By    string   // the dialect of the client
}

// Restore makes files what they were when a run started, whatever changed since. It returns the fork, or nil. Errors, after which
// nothing has changed: those of [Session.Revert], and of [Host.Fork].
func (s *Session) Restore(ctx context.Context, r Restore) (done checkpoint.Restored, fork *Session, err error) {
	if r.Run == "" {
		return done, nil, fault.Errorf(fault.Invalid, "the run is missing")
	}
	result, err := s.host.commands.restore.run(ctx, s, r)
	if err == nil && result.Fork != "" {
		fork, err = s.host.awaitSession(ctx, result.Fork)
	}
	return result.Restored, fork, err
}

func (s *Session) restoreHere(ctx context.Context, r Restore) (done restoredState, err error) {
	if err := s.checkNotWorking(ctx, beforeRestore); err != nil {
		return done, err
	}
	if r.Fork {
		fork, err := s.host.Fork(ctx, s.id, Cut{Before: r.Run})
		if err != nil {
			return done, err
		}
		done.Fork = fork.id
	}
	done.Restored, err = s.restoreState(ctx, r)
	if err != nil && r.Fork {
		err = errors.Join(err, s.host.Delete(context.WithoutCancel(ctx), done.Fork))
	}
	return done, err
}

func (s *Session) restoreState(ctx context.Context, r Restore) (checkpoint.Restored, error) {
	return s.restore(ctx, event.RestoreState, r.Run, r.By, func(store *checkpoint.Store, a checkpoint.Action, one checkpoint.Span) (checkpoint.Restored, error) {
		return store.Restore(ctx, a, newID(), one.From, r.Paths...)
	})
}

// Undo takes back a [Session.Revert], [Session.Restore] or Undo of this session by its id, or for "" the newest of the first two
// that is not undone. by names the dialect of the client. Errors: those of [Session.Revert], kind [fault.NotFound] if there is nothing to undo.
func (s *Session) Undo(ctx context.Context, id, by string) (checkpoint.Restored, error) {
	return s.host.commands.undo.run(ctx, s, sentUndo{id, by})
}

func (s *Session) undoHere(ctx context.Context, u sentUndo) (checkpoint.Restored, error) {
	return s.restore(ctx, event.RestoreUndo, "", u.By, func(store *checkpoint.Store, a checkpoint.Action, _ checkpoint.Span) (checkpoint.Restored, error) {
		return store.Undo(ctx, a, newID(), u.ID)
	})
}

// restore brings files back while no run works, and records it.
func (s *Session) restore(ctx context.Context, kind event.RestoreKind, run, by string, do func(*checkpoint.Store, checkpoint.Action, checkpoint.Span) (checkpoint.Restored, error)) (r checkpoint.Restored, err error) {
	if err := s.checkNotWorking(ctx, beforeRestore); err != nil {
		return r, err
	}
	store, err := s.checkpointStore()
	if err != nil {
		return r, err
	}
	var one checkpoint.Span
	if kind != event.RestoreUndo {
		one, err = s.changesIn(ctx, store).Span(ctx, run)
	}
	if err != nil {
		return r, err
	}
	r, err = do(store, checkpoint.Action{Session: s.id, Kind: checkpoint.Kind(kind), Run: run, By: by}, one)
	if err != nil || r.ID == "" {
		return r, err
	}
	if failed := s.recordRestoredHere(context.WithoutCancel(ctx), r); failed != nil {
		s.host.options.Log.Warn("restored files are not in the record", "session", s.id, "err", failed)
	}
	return r, nil
}

const beforeRestore = "you change files there"

// checkNotWorking returns an error while a run has begun to work on the session's files: its own, or that of another session, also in
// another process. before says what has to wait.
func (s *Session) checkNotWorking(ctx context.Context, before string) error {
	if err := s.checkNoRun(fault.Errorf(fault.Busy, "%w: wait until it has ended, or stop it, before %s", fault.ErrBusy, before)); err != nil {
		return err
	}
	id, directory := s.host.workingNear(s)
	if id == "" {
		var err error
		if id, directory, err = s.host.workingElsewhere(ctx, s); err != nil {
			return err
		}
	}
	if id != "" {
		return fault.Errorf(fault.Busy, "session %s works in %s: wait until its run has ended, or stop it, before %s", id, directory, before)
	}
	return nil
}

// workingNear returns another session of this process with a run whose directory is that of a session, or above or below it; "" if there
// is none.
func (h *Host) workingNear(s *Session) (id, directory string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, other := range h.sessions {
		if other != s && s.sharesFiles(other.canonical) && other.isRunning() {
			return other.id, other.directory
		}
	}
	return "", ""
}

// workingElsewhere is workingNear for the sessions of other processes, according to the store. Those of other nodes count in directories in
// which this node would take them: those are the same everywhere.
func (h *Host) workingElsewhere(ctx context.Context, s *Session) (id, directory string, err error) {
	if h.options.Store == nil {
		return "", "", nil
	}
	heads, err := h.options.Store.HeldByOthers(ctx)
	ofNodes, failed := h.options.Store.HeldByNodes(ctx)
	if err = errors.Join(err, failed); err != nil {
		return "", "", fault.Errorf(fault.Unavailable, "the sessions of other processes could not be read: %w", err)
	}
	ofNodes = slices.DeleteFunc(ofNodes, func(head store.Session) bool { return !h.takes(head.Directory) })
	for _, head := range slices.Concat(heads, ofNodes) {
		if !s.sharesFiles(permission.Canonical(head.Directory)) {
			continue
		}
		if m, err := decodeMeta(head); err == nil && slices.Contains([]State{StateRunning, StateQueued, StateWaiting}, m.State) {
			return head.ID, head.Directory, nil
		}
	}
	return "", "", nil
}

// sharesFiles reports whether a directory is that of the session, or above or below it.
func (s *Session) sharesFiles(canonical string) bool {
	return isWithin(canonical, s.canonical) || isWithin(s.canonical, canonical)
}

// isWithin reports whether a path is a directory or below it.
func isWithin(path, directory string) bool {
	below, err := filepath.Rel(directory, path)
	return err == nil && filepath.IsLocal(below)
}
