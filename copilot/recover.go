package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/copilot-portal/portal/copilot/archive"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
)

// unfinished is what the last owner of a session left unfinished.
type unfinished struct {
	session.Unfinished

	started map[string]bool // runs that have started
	blocks  event.Blocks    // blocks of the run
}

// readUnfinished reads the record after the last RunEnded that the store knows.
func (s *Session) readUnfinished(ctx context.Context) (unfinished, error) {
	left := unfinished{started: map[string]bool{}}
	s.mu.Lock()
	after := s.settings.LastRunEnd
	s.mu.Unlock()
	for after < s.record.Last() {
		entries, err := archive.Read(ctx, s.host.options.Store, s.id, after, storeBatch)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			after = gap.First - 1
			continue
		case err != nil:
			return unfinished{}, err
		case len(entries) == 0:
			return left, nil
		}
		for _, e := range entries {
			left.apply(e.Value)
		}
		after = entries[len(entries)-1].N
	}
	return left, nil
}

func (l *unfinished) apply(e event.Event) {
	l.blocks.Apply(e)
	l.Apply(e)
	if _, starts := e.Body.(event.RunStarted); starts {
		l.started[e.Run] = true
	}
}

// repair recovers what the last owner left unfinished; see [session.Machine.Recover]. The caller must hold the lock.
func (s *Session) repair(left unfinished) {
	left.Queue, left.Continues = s.restoreQueue(left.started), s.questionsContinue()
	s.setReaderPosition(positionWaiting, 0)
	s.record.Reopen()
	if left.Run != "" {
		s.blocks = left.blocks
		s.settings.Run = left.Run // the stored head may be older
	}
	s.inputLocked(func(m *session.Machine) { m.Recover(left.Unfinished) })
	s.endRecord()
}

// restoreQueue returns the runs that were queued when the last owner ended, except those that have started. An unreadable prompt
// is lost and logged. The caller must hold the lock.
func (s *Session) restoreQueue(started map[string]bool) []*session.Run {
	runs := s.decodeQueue(s.stored.queue)
	s.stored.queue, s.stored.decodedQueue = nil, nil
	return slices.DeleteFunc(runs, func(r *session.Run) bool { return started[r.ID] })
}

// decodeQueue decodes stored prompts. It skips and logs an unreadable one.
func (s *Session) decodeQueue(lines []json.RawMessage) (runs []*session.Run) {
	for _, line := range lines {
		r, err := session.DecodeRun(line)
		if err != nil {
			s.host.options.Log.Error("cannot read queued prompt", "session", s.id, "err", err)
			continue
		}
		runs = append(runs, r)
	}
	return runs
}

// mayNeedRecovery reports whether something accepts, or may accept, what the last owner left unfinished.
func (s *Session) mayNeedRecovery(ctx context.Context, something func(unfinished) bool) bool {
	s.storage.mu.Lock() // prevents the record from growing
	defer s.storage.mu.Unlock()
	left, err := s.readUnfinished(ctx)
	return err != nil || something(left)
}

// Recover recovers the sessions of processes that were killed: it marks their runs as interrupted, and reopens questions that
// can still be answered. It returns when it has processed all of them or ctx ends. A serving process must call it
// regularly, because another process may be killed meanwhile.
func (h *Host) Recover(ctx context.Context) error {
	if h.options.Store == nil {
		return nil
	}
	ids, err := h.options.Store.Orphans(ctx)
	if err != nil {
		return err
	}
	return h.recoverSessions(ctx, ids)
}

// ReopenQuestions activates the sessions that waited for an answer when their portal stopped. Call it like
// [Host.Recover], less often.
func (h *Host) ReopenQuestions(ctx context.Context) error {
	if h.options.Store == nil {
		return nil
	}
	ids, err := h.options.Store.WithPosition(ctx, positionWaiting)
	if err != nil {
		return err
	}
	return h.recoverSessions(ctx, ids)
}

func (h *Host) recoverSessions(ctx context.Context, ids []string) error {
	for _, id := range ids {
		s, err := h.Session(ctx, id)
		if err == nil {
			err = s.exclusively(ctx, s.recover)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, fault.ErrSessionInUse) { // otherwise another process recovers it
			h.options.Log.Warn("cannot recover session of killed process", "session", id, "err", err)
		}
	}
	return nil
}

// recover acquires the lease, which recovers the session. If its run continues, the session is activated; otherwise the lease is
// released again. The caller must have entered the gate.
func (s *Session) recover(ctx context.Context) error {
	if s.machineState() == session.Active {
		return nil // activated meanwhile
	}
	if err := s.awaitLoopEnd(ctx); err != nil {
		return err
	}
	err := s.acquireLease(ctx)
	if err == nil && s.isRunning() {
		err = s.reopenWith(ctx, s.activateWithoutAgent)
		if err == nil {
			return nil
		}
	}
	s.requestRelease()
	return err
}
