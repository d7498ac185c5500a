package copilot

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
)

// cutReason is why a run was cut off.
const cutReason = "the portal ended in the middle of it"

// remains is what the last owner of a session has left undone.
type remains struct {
	run       string // that has no end; "" if none
	questions []event.Question
	begun     map[string]bool // the runs that stand in the record
	blocks    event.Blocks    // of the run
}

// remains reads what stands behind the last event of which the store knows that
// nothing was going on: the last run, if it has no end.
func (s *Session) remains(ctx context.Context) (remains, error) {
	left := remains{begun: map[string]bool{}}
	for after := s.settled; after < s.record.Last(); {
		entries, err := s.host.stored(ctx, s.id, after, keepBatch)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			after = gap.First - 1
			continue
		case err != nil:
			return remains{}, err
		case len(entries) == 0:
			return left, nil
		}
		for _, e := range entries {
			left.take(e)
		}
		after = entries[len(entries)-1].N
	}
	return left, nil
}

// take follows the life of runs and questions.
func (l *remains) take(e journal.Entry[event.Event]) {
	l.blocks.Take(e.Value)
	switch b := e.Value.Body.(type) {
	case event.RunStarted:
		l.run, l.questions = e.Value.Run, nil
		l.begun[l.run] = true
	case event.RunEnded:
		l.run, l.questions = "", nil
	case event.QuestionAsked:
		l.questions = append(l.questions, b.Question)
	case event.QuestionClosed:
		l.questions = slices.DeleteFunc(l.questions, func(q event.Question) bool { return q.ID == b.ID })
	}
}

// mend puts in order what the last owner could not: the run that it was cut off
// from has an end, and so have its questions, but for those that the agent can
// still be given the answers of. With such the run goes on, unless a client had
// closed the session. Called with the lock held.
func (s *Session) mend(left remains) {
	queue := s.waiting(left.begun)
	s.unmended = false
	s.setMark(markWaiting, 0)
	s.record.Reopen()
	if left.run != "" {
		s.blocks = left.blocks
		s.lately.run = left.run // which may be younger than what else is known
		s.run = &run{id: left.run, ended: make(chan struct{}), stopping: make(chan struct{}), sent: true, taken: true}
		s.revive(left.questions)
	}
	switch {
	case s.run != nil && len(s.questions) > 0:
		s.queue = queue
		s.endRecord()
		return
	case s.run != nil:
		s.cutOff(s.run)
	}
	for _, r := range queue {
		s.begin(r)
		s.cutOff(r)
	}
	s.endRecord()
}

// cutOff ends a run in whose middle the portal ended. Called with the lock held.
func (s *Session) cutOff(r *run) {
	s.append("", event.RunEnded{Outcome: event.Interrupted, Text: cutReason})
	s.host.counts.end(event.Interrupted)
	s.run = nil
	close(r.ended)
}

// waiting are the runs of the prompts that waited when the last owner ended, but
// for those that it had begun. One that cannot be read is lost, which is said.
// Called with the lock held.
func (s *Session) waiting(begun map[string]bool) []*run {
	var runs []*run
	for _, line := range s.left {
		e, err := event.Decode(line)
		m, ok := e.Body.(event.UserMessage)
		switch {
		case err != nil || !ok:
			s.host.options.Log.Error("a prompt that waited cannot be read", "session", s.id, "err", err)
		case !begun[e.Run]:
			r := newRun(m.Prompt)
			r.id, r.line = e.Run, line
			runs = append(runs, r)
		}
	}
	s.left = nil
	return runs
}

// revive opens the questions again that can still be answered, and ends the
// others. Called with the lock held.
func (s *Session) revive(questions []event.Question) {
	var open []event.Question
	for _, q := range questions {
		s.questions[q.ID] = asked{Question: q}
		if q.SurvivesRestart() && s.rests {
			open = append(open, q)
			continue
		}
		s.closeQuestion(event.QuestionClosed{ID: q.ID, Ending: event.Expired})
	}
	s.run.pending = open
	for _, q := range open {
		s.setTimer(q)
	}
	s.attend()
}

// setTimer lets a question end in time, as it was said when it was asked. Called
// with the lock held.
func (s *Session) setTimer(q event.Question) {
	if q.Deadline.IsZero() {
		return
	}
	rest := max(time.Until(q.Deadline), 0)
	s.questions[q.ID] = asked{Question: q, timer: time.AfterFunc(rest, func() { s.expire(q.ID) })}
}

// wasLeft says whether a session at rest was left with something, or may have been.
func (s *Session) wasLeft(ctx context.Context, something func(remains) bool) bool {
	s.shelf.mu.Lock() // so that the end of the record stands
	defer s.shelf.mu.Unlock()
	left, err := s.remains(ctx)
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
	return h.recoverThese(ctx, ids)
}

// Revive lets the sessions wait for their answers again that did so when their
// portal was stopped. Call it as [Host.Recover], less often.
func (h *Host) Revive(ctx context.Context) error {
	if h.options.Store == nil {
		return nil
	}
	ids, err := h.options.Store.Named(ctx, markWaiting)
	if err != nil {
		return err
	}
	return h.recoverThese(ctx, ids)
}

func (h *Host) recoverThese(ctx context.Context, ids []string) error {
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
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !s.isClosed() {
		return nil // it is in use already
	}
	if err := s.ended(ctx); err != nil {
		return err
	}
	err = s.hold(ctx)
	if err == nil && s.goes() {
		err = s.reopenAs(ctx, s.begins)
		if err == nil {
			return nil
		}
	}
	s.letGo() // so that it can be used here and elsewhere
	return err
}

// goes says whether a run goes on.
func (s *Session) goes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run != nil
}
