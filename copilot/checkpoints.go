package copilot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/changes"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// Times of checkpoints.
const (
	// checkpointDelay is how long the prompt of a session with client tools waits for the checkpoint of its run: such a tool
	// may change files without a permission. Permissions wait as long as it takes, and other prompts do not wait.
	checkpointDelay = 300 * time.Millisecond
	// checkpointTime is how long a checkpoint may take, with the wait for those of other sessions.
	checkpointTime = 2 * time.Minute
	forgetTime     = 5 * time.Second
)

// checkpoints is the state of the checkpoints of a session, which are taken one after another.
type checkpoints struct {
	checkpoint    <-chan struct{} // closed when the newest one is taken, or has failed; nil before the first
	checkpointRun string          // the run that gets one at its end
}

// hasCheckpoints reports whether checkpoints of the session's runs are taken.
func (s *Session) hasCheckpoints() bool {
	o := s.host.options
	return o.Checkpoints != nil && !slices.Contains(o.WithoutCheckpoints, s.origin)
}

// takeCheckpoint takes a checkpoint in the background, after those that it started before. done is closed afterwards. The caller
// must hold the lock.
func (s *Session) takeCheckpoint(name string) (done <-chan struct{}) {
	s.checkpoint = s.host.work.after(s.checkpoint, checkpointTime, func(ctx context.Context) {
		store, err := s.host.options.Checkpoints.Of(s.directory)
		if err == nil {
			_, err = store.Take(ctx, s.id, name)
		}
		if err != nil && ctx.Err() == nil {
			s.host.options.Log.Info("no checkpoint was taken", "session", s.id, "name", name, "err", err)
		}
	})
	return s.checkpoint
}

// checkpointStart takes the checkpoint of a run's start, unless the agent has its prompt already. wait waits for it, for a
// limited time, before a prompt with which the agent may change files without a permission.
func (s *Session) checkpointStart(ctx context.Context, r *session.Run) (wait func()) {
	if !s.hasCheckpoints() || r.OnlyCompacts() {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkpointRun = r.ID
	if r.Continues() {
		return func() {}
	}
	taken := s.takeCheckpoint(changes.StartOf + r.ID)
	if len(s.settings.Tools) == 0 {
		return func() {}
	}
	late := time.NewTimer(checkpointDelay)
	return func() {
		defer late.Stop()
		select {
		case <-taken:
		case <-late.C:
		case <-ctx.Done():
		}
	}
}

// checkpointEnd takes the checkpoint of a run's end. The caller must hold the lock.
func (s *Session) checkpointEnd(run string) {
	if run != "" && run == s.checkpointRun {
		s.checkpointRun = ""
		s.takeCheckpoint(changes.EndOf + run)
	}
}

// checkpointBefore returns what a reply waits for: the agent may change files with it, and the checkpoint of the run's start must be
// taken before. The caller must hold the lock.
func (s *Session) checkpointBefore(r session.Reply) <-chan struct{} {
	if r.Question.Kind == event.AskPermission && r.Answer.Approved {
		return s.checkpoint
	}
	return nil
}

// awaitCheckpoint waits until the checkpoints that were started are taken.
func (s *Session) awaitCheckpoint(ctx context.Context) {
	s.mu.Lock()
	taken := s.checkpoint
	s.mu.Unlock()
	awaitClosed(taken, ctx.Done())
}

// awaitClosed waits until a channel, if there is one, or another one is closed.
func awaitClosed(channel, other <-chan struct{}) {
	if channel == nil {
		return
	}
	select {
	case <-channel:
	case <-other:
	}
}

// forgetCheckpoints removes the checkpoints of a deleted session. What remains is removed later.
func (s *Session) forgetCheckpoints(ctx context.Context) {
	if s.host.options.Checkpoints == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	s.awaitCheckpoint(ctx)
	store, err := s.host.options.Checkpoints.Of(s.directory)
	if err == nil {
		err = store.Forget(ctx, s.id)
	}
	if err != nil {
		s.host.options.Log.Debug("the checkpoints of a deleted session remain for now", "session", s.id, "err", err)
	}
}

// copyCheckpoints gives a fork the checkpoints of the runs that it has in its record.
func (s *Session) copyCheckpoints(ctx context.Context, from *Session) {
	if !s.hasCheckpoints() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	from.awaitCheckpoint(ctx)
	store, err := s.host.options.Checkpoints.Of(s.directory)
	if err == nil {
		runs := map[string]bool{}
		err = s.eachEntry(ctx, s.record.Last(), func(e journal.Entry[event.Event]) bool {
			runs[e.Value.Run] = true
			return true
		}, func() {})
		err = errors.Join(err, store.Copy(ctx, from.id, s.id, func(c checkpoint.Checkpoint) bool {
			_, run, _ := strings.Cut(c.Name, "-") // see [changes.StartOf] and [changes.EndOf]
			return runs[run]
		}))
	}
	if err != nil {
		s.host.options.Log.Info("a fork has no checkpoints of earlier runs", "session", s.id, "err", err)
	}
}

// MaintainCheckpoints removes checkpoints of sessions that no longer exist, unless the store has lost its sessions.
func (h *Host) MaintainCheckpoints(ctx context.Context) error {
	if h.options.Checkpoints == nil || h.options.Store == nil {
		return nil
	}
	if f := h.options.Store.Failure(); f != nil && (f.Kind == store.Corrupt || f.Kind == store.Replaced) {
		return nil
	}
	return h.options.Checkpoints.Keep(ctx, func(id string) bool {
		if _, loaded := h.Loaded(id); loaded {
			return true
		}
		_, err := h.options.Store.Session(ctx, id)
		return !errors.Is(err, store.ErrNotFound)
	})
}

// RecoverFiles completes restores and reverts that killed processes left halfway, and records them in their sessions.
func (h *Host) RecoverFiles(ctx context.Context) error {
	if h.options.Checkpoints == nil {
		return nil
	}
	return h.options.Checkpoints.Recover(ctx, func(r checkpoint.Restored) error {
		s, err := h.Session(ctx, r.Session)
		if err == nil {
			err = h.commands.recordRestored.effect(ctx, s, r)
		}
		if errors.Is(err, fault.ErrSessionNotFound) {
			return nil
		}
		return err
	})
}

// recordRecoveredHere records that files were brought back, unless the record has that: the answer to an earlier call may be lost.
func (s *Session) recordRecoveredHere(ctx context.Context, r checkpoint.Restored) error {
	isRecorded := false
	err := s.eachEntry(ctx, s.record.Last(), func(e journal.Entry[event.Event]) bool {
		b, ok := e.Value.Body.(event.FilesRestored)
		isRecorded = ok && b.ID == r.ID
		return !isRecorded
	}, func() {})
	if isRecorded || err != nil {
		return err
	}
	return s.recordRestoredHere(ctx, r)
}

// recordRestoredHere records that files were brought back.
func (s *Session) recordRestoredHere(ctx context.Context, r checkpoint.Restored) error {
	const most = 20
	e := event.FilesRestored{
		ID: r.ID, Kind: event.RestoreKind(r.Kind), Target: r.Run, By: r.By, Undoes: r.Undoes, Files: r.Count, Left: r.Left[:min(most, len(r.Left))],
	}
	for _, f := range r.Files[:min(most, len(r.Files))] {
		e.Paths = append(e.Paths, f.Path)
	}
	return s.update(ctx, func() { s.recordInRun("", e) })
}
