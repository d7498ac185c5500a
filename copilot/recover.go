package copilot

import (
	"context"
	"errors"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
)

// unfinished is what the last owner of a session has left undone.
type unfinished struct {
	run       string           // that has no end; "" if none
	questions []event.Question // that were asked in it
	orphans   []event.Question // that were asked outside of it
	begun     map[string]bool  // the runs that stand in the record
	blocks    event.Blocks     // of the run
}

// readUnfinished reads what stands behind the last event of which the store knows that
// nothing was going on: the last run, if it has no end.
func (s *Session) readUnfinished(ctx context.Context) (unfinished, error) {
	left := unfinished{begun: map[string]bool{}}
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
			left.apply(e)
		}
		after = entries[len(entries)-1].N
	}
	return left, nil
}

// apply follows the life of runs and questions.
func (l *unfinished) apply(e journal.Entry[event.Event]) {
	l.blocks.Apply(e.Value)
	switch b := e.Value.Body.(type) {
	case event.RunStarted:
		l.run = e.Value.Run
		l.begun[l.run] = true
	case event.RunEnded:
		l.run, l.questions, l.orphans = "", nil, nil
	case event.QuestionAsked:
		if l.run == "" {
			l.orphans = append(l.orphans, b.Question)
		} else {
			l.questions = append(l.questions, b.Question)
		}
	case event.QuestionClosed:
		closed := func(q event.Question) bool { return q.ID == b.ID }
		l.questions, l.orphans = slices.DeleteFunc(l.questions, closed), slices.DeleteFunc(l.orphans, closed)
	}
}

// repair puts in order what the last owner could not; see [session.Machine.Recover]. Called with the lock held.
func (s *Session) repair(left unfinished) {
	queue := s.restoreQueue(left.begun)
	s.setReaderPosition(positionWaiting, 0)
	s.record.Reopen()
	if left.run != "" {
		s.blocks = left.blocks
		s.recent.run = left.run // which may be younger than what else is known
	}
	s.inputLocked(func(m *session.Machine) {
		m.Recover(session.Unfinished{Run: left.run, Questions: left.questions, Orphans: left.orphans, Queue: queue})
	})
	s.endRecord()
}

// restoreQueue are the runs of the prompts that waited when the last owner ended, but
// for those that it had begun. One that cannot be read is lost, which is said.
// Called with the lock held.
func (s *Session) restoreQueue(begun map[string]bool) []*session.Run {
	var runs []*session.Run
	for _, line := range s.leftQueue {
		e, err := event.Decode(line)
		m, ok := e.Body.(event.UserMessage)
		switch {
		case err != nil || !ok:
			s.host.options.Log.Error("a prompt that waited cannot be read", "session", s.id, "err", err)
		case !begun[e.Run]:
			runs = append(runs, session.NewRun(e.Run, m.Prompt))
		}
	}
	s.leftQueue = nil
	return runs
}

// mayNeedRecovery says whether a session at rest was left with something, or may have been.
func (s *Session) mayNeedRecovery(ctx context.Context, something func(unfinished) bool) bool {
	s.storage.mu.Lock() // so that the end of the record stands
	defer s.storage.mu.Unlock()
	left, err := s.readUnfinished(ctx)
	return err != nil || something(left)
}

// Recover puts in order the sessions of processes that were killed: runs that
// were cut off are marked so, and questions that can still be answered wait for
// that again. It returns when all were looked at; ctx ends it early. Call it now
// and then, from a process that serves: another may be killed while this one lives.
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

// ReopenQuestions lets the sessions wait for their answers again that did so when their
// portal was stopped. Call it as [Host.Recover], less often.
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
		if err != nil && !errors.Is(err, fault.ErrSessionInUse) { // else another process has been faster
			h.options.Log.Warn("a session of a killed process could not be put in order", "session", id, "err", err)
		}
	}
	return nil
}

// recover holds the session for as long as it takes to mend it, or goes on with
// it if its run does.
func (s *Session) recover(ctx context.Context) error {
	leave, err := s.enterGate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if s.isActive() {
		return nil // it is in use already
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
	s.requestRelease() // so that it can be used here and elsewhere
	return err
}
