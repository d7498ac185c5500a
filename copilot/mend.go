package copilot

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/journal"
)

// cutReason is why a run was cut off.
const cutReason = "the portal ended in the middle of it"

// remains is what the last owner of a session has left undone.
type remains struct {
	run       string // that has no end; "" if none
	questions []Question
}

// mend puts in order what the last owner could not: the run that it was cut off
// from has an end, and so have its questions, but for those that the agent can
// still be given the answers of. With such the run goes on. Called with the lock
// and that of the shelf held.
func (s *Session) mend(ctx context.Context) error {
	left, err := s.remains(ctx)
	if err != nil {
		return err
	}
	queue, err := s.waiting()
	if err != nil {
		return err
	}
	s.record.Reopen()
	defer s.endRecord()
	if left.run != "" {
		s.run = &run{id: left.run, ended: make(chan struct{}), sent: true, taken: true}
		s.revive(left.questions)
	}
	if s.run != nil && len(s.questions) == 0 {
		s.cutOff(s.run)
	}
	if s.run != nil {
		s.queue = queue
		return nil
	}
	for _, r := range queue {
		s.begin(r)
		s.cutOff(r)
	}
	return nil
}

// cutOff ends a run in whose middle the portal ended. Called with the lock held.
func (s *Session) cutOff(r *run) {
	s.append("", RunEnded{Outcome: Interrupted, Text: cutReason})
	s.host.counts.end(Interrupted)
	s.run = nil
	close(r.ended)
}

// revive opens the questions again that can still be answered, and ends the
// others. Called with the lock held.
func (s *Session) revive(questions []Question) {
	var open []Question
	for _, q := range questions {
		s.questions[q.ID] = asked{Question: q}
		if q.outlives() {
			open = append(open, q)
			continue
		}
		s.closeQuestion(QuestionAnswered{ID: q.ID, Ending: Expired})
	}
	s.run.pending = open
	for _, q := range open {
		s.setTimer(q)
	}
}

// setTimer lets a question end in time, as it was said when it was asked. Called
// with the lock held.
func (s *Session) setTimer(q Question) {
	if q.Deadline.IsZero() {
		return
	}
	rest := max(time.Until(q.Deadline), 0)
	s.questions[q.ID] = asked{Question: q, timer: time.AfterFunc(rest, func() { s.expire(q.ID) })}
}

// outlives says whether an agent that is started anew can take the answer.
func (q Question) outlives() bool { return q.Kind == AskPermission || q.Kind == AskTool }

// remains reads the last run of the stored record.
func (s *Session) remains(ctx context.Context) (remains, error) {
	if s.started == 0 || s.started > s.record.Last() {
		return remains{}, nil
	}
	var left remains
	for after := s.started - 1; after < s.record.Last(); {
		entries, err := s.host.stored(ctx, s.id, after, keepBatch)
		var gap *journal.GapError
		if errors.As(err, &gap) {
			after = gap.First - 1
			continue
		}
		if err != nil || len(entries) == 0 {
			return remains{}, err
		}
		for _, e := range entries {
			left.take(e)
		}
		after = entries[len(entries)-1].N
	}
	return left, nil
}

// take follows the life of runs and questions.
func (l *remains) take(e journal.Entry[Event]) {
	switch b := e.Value.Body.(type) {
	case RunStarted:
		*l = remains{run: e.Value.Run}
	case RunEnded:
		*l = remains{}
	case QuestionAsked:
		l.questions = append(l.questions, b.Question)
	case QuestionAnswered:
		l.questions = slices.DeleteFunc(l.questions, func(q Question) bool { return q.ID == b.ID })
	}
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
	for _, id := range ids {
		s, err := h.Session(ctx, id)
		if err == nil {
			err = s.recover(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, ErrSessionInUse) { // else another process has been faster
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
