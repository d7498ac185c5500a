package copilot

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// A session is at rest when this process does not work with it: the store has
// it, and any process may take it. One that a client closed stays closed until
// it is reopened; any other goes on with its next use.

// rouse makes a session at rest ready for prompts; it does nothing for others.
// The agent's conversation is taken up when it is needed. Errors: kind [Busy]
// when another process has the session or too many are open, kind [Unavailable]
// when the store cannot be written, [ErrStopping].
func (s *Session) rouse() error {
	if !s.isAtRestUntilUsed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !s.isAtRestUntilUsed() {
		return nil // somebody else was faster
	}
	return s.reopenAs(ctx, s.begins)
}

// closeAtRest closes a session that this process does not work with, which it is
// held for.
func (s *Session) closeAtRest() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !s.isAtRestUntilUsed() {
		s.shut(false) // somebody used it meanwhile
		return nil
	}
	if err := s.ended(ctx); err != nil {
		return err
	}
	defer s.letGo()
	if err := s.hold(ctx); err != nil {
		return err
	}
	s.endAtRest()
	return nil
}

// endAtRest ends a session without a loop, with what a process that was killed
// had left to go on.
func (s *Session) endAtRest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Reopen()
	defer s.endRecord()
	s.rests, s.queue = false, nil
	if s.run != nil {
		s.endLocked(s.run, Cancelled)
	}
	s.append("", SessionClosed{})
	s.renew()
}

func (s *Session) isAtRestUntilUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && s.rests
}

// reopenAs takes a place and the session itself, and opens it in one of two
// ways. Called with the gate entered.
func (s *Session) reopenAs(ctx context.Context, open func(context.Context) error) error {
	if err := s.ended(ctx); err != nil {
		return err
	}
	if err := s.host.reserve(); err != nil {
		return err
	}
	err := s.hold(ctx)
	if err == nil {
		err = open(ctx)
	}
	if err != nil {
		s.letGo()
		s.host.release()
		return err
	}
	return s.host.admit(s)
}

// ended waits for a loop that is still ending.
func (s *Session) ended(ctx context.Context) error {
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begins opens the session without its conversation.
func (s *Session) begins(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.goOn(ctx, nil)
	return nil
}

// hold takes the session from the store, so that it may be written, and puts in
// order what its last owner could not.
func (s *Session) hold(ctx context.Context) error {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	if s.shelf.lease != nil || !s.shelf.stored {
		s.mu.Lock()
		s.over = false
		s.mu.Unlock()
		return nil
	}
	lease, err := s.host.options.Store.Acquire(ctx, s.id)
	if err != nil {
		return s.taken(err)
	}
	if err := s.catchUp(ctx, lease.Head()); err != nil {
		_ = lease.Release(ctx) // if not, it is taken back when this process has ended
		s.vanish(err)
		return err
	}
	s.shelf.lease, s.shelf.handed, s.shelf.pieces = lease, lease.Head().Last, pieces{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.held, s.owner = false, true, 0
	s.beginEpoch()
	return s.mend(ctx)
}

// taken says why a session could not be taken.
func (s *Session) taken(err error) error {
	var inUse *store.InUseError
	switch {
	case errors.As(err, &inUse):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.owner = inUse.PID
		return s.inUse()
	case errors.Is(err, store.ErrNotFound):
		return ErrSessionNotFound
	}
	return Errorf(Unavailable, "the session could not be taken from the store: %w", err)
}

// inUse is called with the lock held.
func (s *Session) inUse() error {
	return Errorf(Busy, "%w by process %d: go on there, or close it there first", ErrSessionInUse, s.owner)
}

// letGo makes the recorder give the session back. A run that was to go on is
// found again in the record.
func (s *Session) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, q := range s.questions {
		if q.timer != nil {
			q.timer.Stop()
		}
		delete(s.questions, id)
	}
	s.run, s.queue, s.over = nil, nil, true
	s.mark()
}

// beginEpoch begins a new epoch: what the last one had not stored is gone, and
// its numbers are given again. Called with the lock held.
func (s *Session) beginEpoch() {
	s.earlier = append(s.earlier, journal.Position{Epoch: s.epoch, N: s.record.Last()})
	if len(s.earlier) > maxEpochs {
		s.earlier = s.earlier[len(s.earlier)-maxEpochs:]
	}
	s.epoch = newEpoch()
	s.record.Begin(s.epoch, s.earlier)
	s.newHead = true
	s.mark()
}

// catchUp takes over what another process has made of a session at rest.
func (s *Session) catchUp(ctx context.Context, head store.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.learn(head); err != nil {
		return err
	}
	s.record.Begin(s.epoch, s.earlier)
	s.record.Reopen()
	defer s.endRecord()
	for s.record.Last() < head.Last {
		entries, err := s.host.stored(ctx, s.id, s.record.Last(), keepBatch)
		if err != nil || len(entries) == 0 {
			return Errorf(Internal, "the stored record could not be read: %w", err)
		}
		for _, e := range entries {
			if n, err := s.record.Append(e.Value); err != nil || n != e.N {
				return errHole
			}
		}
	}
	s.record.Unpin(s.record.Last())
	return nil
}

// errHole says that a record cannot be continued in memory as the store has it.
var errHole = Errorf(Unavailable, "the stored record has a hole; ask again")

// endRecord ends the record of a session that is closed, and of no other:
// readers of one at rest wait for its next use. Called with the lock held.
func (s *Session) endRecord() {
	if s.closed && !s.rests {
		s.record.Close()
	}
}

// refresh looks at what the store knows of a session at rest, and tells whether
// another process has it.
func (s *Session) refresh(ctx context.Context) (elsewhere bool) {
	head, err := s.host.options.Store.Session(ctx, s.id)
	if err != nil {
		return s.vanish(err)
	}
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	if s.shelf.lease != nil || !s.isClosed() {
		return false
	}
	if err := s.catchUp(ctx, head); err != nil {
		return s.vanish(err)
	}
	return head.Owner != 0
}

// vanish forgets a session that was deleted, or whose record has to be read anew.
func (s *Session) vanish(err error) (elsewhere bool) {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, errHole) {
		s.record.Close()
		s.host.forget(s)
	}
	return false
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// unwatched says whether nobody has asked for the session for long.
func (s *Session) unwatched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.used) > followAfter
}

// expel ends a session that another process has taken: what is said here would
// not become part of it. Called with the lock of the shelf held.
func (s *Session) expel() {
	s.mu.Lock()
	s.append("", failed(Errorf(Busy, "%w: another process has taken it; what is said here is not stored any more", ErrSessionInUse)))
	s.closed, s.rests, s.over = true, false, true
	s.queue = nil
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.host.forget(s)
}
