package copilot

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
)

// unfinished is what the last owner of a session left unfinished.
type unfinished struct {
	session.Unfinished

	started map[string]bool // the runs that have started
	blocks  event.Blocks    // of the run
}

// readUnfinished reads the record behind the last RunEnded that the store knows of.
func (s *Session) readUnfinished(ctx context.Context) (unfinished, error) {
	left := unfinished{started: map[string]bool{}}
	for after := s.lastRunEnd; after < s.record.Last(); {
		entries, err := s.host.readStored(ctx, s.id, after, storeBatch)
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

// repair recovers what the last owner left unfinished; see [session.Machine.Recover]. Called with the lock held.
func (s *Session) repair(left unfinished) {
	left.Queue = s.restoreQueue(left.started)
	s.setReaderPosition(positionWaiting, 0)
	s.record.Reopen()
	if left.Run != "" {
		s.blocks = left.blocks
		s.recent.run = left.Run // the stored head may be older
	}
	s.inputLocked(func(m *session.Machine) { m.Recover(left.Unfinished) })
	s.endRecord()
}

// restoreQueue returns the runs that were queued when the last owner ended, without those that have started. A prompt that
// cannot be read is lost, and logged. Called with the lock held.
func (s *Session) restoreQueue(started map[string]bool) []*session.Run {
	var runs []*session.Run
	for _, line := range s.leftQueue {
		e, err := event.Decode(line)
		m, ok := e.Body.(event.UserMessage)
		switch {
		case err != nil || !ok:
			s.host.options.Log.Error("a queued prompt cannot be read", "session", s.id, "err", err)
		case !started[e.Run]:
			runs = append(runs, session.NewRun(e.Run, m.Prompt))
		}
	}
	s.leftQueue = nil
	return runs
}

// mayNeedRecovery says whether what the last owner left unfinished meets a condition, or may meet it.
func (s *Session) mayNeedRecovery(ctx context.Context, something func(unfinished) bool) bool {
	s.storage.mu.Lock() // so that the record does not grow meanwhile
	defer s.storage.mu.Unlock()
	left, err := s.readUnfinished(ctx)
	return err != nil || something(left)
}

// Recover recovers the sessions of processes that were killed: it marks their runs as interrupted, and reopens questions that
// can still be answered. It returns when it has looked at all of them; ctx ends it early. A serving process calls it from
// time to time, as another process may be killed while this one lives.
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

// ReopenQuestions activates the sessions that waited for an answer when their portal was stopped. Call it like
// [Host.Recover], less often.
func (h *Host) ReopenQuestions(ctx context.Context) error {
	if h.options.Store == nil {
		return nil
	}
	ids, err := h.options.Store.Named(ctx, positionWaiting)
	if err != nil {
		return err
	}
	return h.recoverSessions(ctx, ids)
}

func (h *Host) recoverSessions(ctx context.Context, ids []string) error {
	for _, id := range ids {
		s, err := h.Session(ctx, id)
		if err == nil {
			err = s.recover(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, fault.ErrSessionInUse) { // else another process recovers it
			h.options.Log.Warn("a session of a killed process could not be recovered", "session", id, "err", err)
		}
	}
	return nil
}

// recover acquires the lease, which recovers the session. If its run goes on, the session is activated, else the lease is
// released again.
func (s *Session) recover(ctx context.Context) error {
	leave, err := s.enterGate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if s.isActive() {
		return nil // it was activated meanwhile
	}
	if err := s.awaitLoopEnd(ctx); err != nil {
		return err
	}
	err = s.acquireLease(ctx)
	if err == nil && s.isRunning() {
		err = s.reopenWith(ctx, s.activateWithoutAgent)
		if err == nil {
			return nil
		}
	}
	s.requestRelease()
	return err
}
