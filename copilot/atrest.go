package copilot

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// A session is at rest when this process does not work with it: the store has
// it, and any process may take it. One that a client closed stays closed until
// it is reopened; any other goes on with its next use.

// isAtRestUntilUsed is called with the lock held.
func (s *Session) isAtRestUntilUsed() bool { return s.closed && s.rests }

// lockAwake takes the lock of a session that does not rest, after waking it if it
// does. Errors: those of [Session.rouse]; then the lock is not held.
func (s *Session) lockAwake() error {
	for {
		s.mu.Lock()
		if !s.isAtRestUntilUsed() {
			return nil
		}
		s.mu.Unlock()
		if err := s.rouse(); err != nil {
			return err
		}
	}
}

// rouse makes a session at rest ready for prompts; it does nothing for others.
// The agent's conversation is taken up when it is needed. Errors: kind [fault.Busy]
// when another process has the session or too many are open, kind [fault.Unavailable]
// when the store cannot be written, [fault.ErrStopping].
func (s *Session) rouse() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.awaken(ctx)
}

// awaken is rouse with the gate entered.
func (s *Session) awaken(ctx context.Context) error {
	s.mu.Lock()
	rests := s.isAtRestUntilUsed()
	s.mu.Unlock()
	if !rests {
		return nil
	}
	return s.reopenAs(ctx, s.begins)
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
// order what its last owner could not. Called with the gate entered.
func (s *Session) hold(ctx context.Context) error {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	err := s.holdLocked(ctx)
	s.vanish(err)
	return err
}

// holdLocked is hold with the lock of the shelf held.
func (s *Session) holdLocked(ctx context.Context) error {
	if keeps, err := s.stillHeld(ctx); keeps || err != nil {
		return err
	}
	lease, err := s.host.options.Store.Acquire(ctx, s.id)
	if err != nil {
		return s.taken(err)
	}
	s.shelf.lease, s.shelf.handed, s.shelf.pieces = lease, lease.Head().Last, pieces{}
	left, err := s.study(ctx, lease.Head())
	if err == nil {
		err = s.takeOver(lease, left)
	}
	if err != nil {
		s.putBack(ctx)
	}
	return err
}

// takeOver makes the session one of this process.
func (s *Session) takeOver(lease *store.Lease, left remains) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dropped { // while the disk was slow
		return errDropped
	}
	s.over, s.held, s.owner = false, true, 0
	s.beginEpoch()
	if head := s.head(); head != nil {
		_ = lease.Update(*head) // before any entry of the epoch; a lease that is lost tells it later
	}
	s.mend(left)
	return nil
}

// putBack gives a session back that could not be taken over; if that cannot be
// done now, the recorder does it. Called with the lock of the shelf held.
func (s *Session) putBack(ctx context.Context) {
	later, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if s.shelf.lease.Release(later) == nil {
		s.shelf.lease = nil
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.unmended = true, true
	s.mark()
}

// stillHeld says whether the session is held already, and in order. One that was
// let go in the middle of something is given back, to be taken anew. Called with
// the lock of the shelf held.
func (s *Session) stillHeld(ctx context.Context) (bool, error) {
	s.mu.Lock()
	dropped, unmended := s.dropped, s.unmended
	if !dropped && !unmended && (s.shelf.lease != nil || !s.shelf.stored) {
		s.over = false
		s.mu.Unlock()
		return true, nil
	}
	s.mu.Unlock()
	switch {
	case dropped:
		return false, errDropped
	case s.shelf.lease == nil:
		return false, nil
	}
	s.news()
	err := s.handOver()
	if err == nil {
		_, err = s.giveBack(ctx)
	}
	if err != nil {
		return false, fault.Errorf(fault.Unavailable, "the session could not be given back to the store: %w", err)
	}
	return false, nil
}

// errDropped is that of a session that somebody still has in hand while another
// of its name may be at work.
var errDropped = fault.Errorf(fault.Unavailable, "the session has left memory meanwhile; try again")

// study brings the session up to what the store has, and finds what its last owner
// has left. Nothing is changed that would have to be undone.
func (s *Session) study(ctx context.Context, head store.Session) (remains, error) {
	if err := s.catchUp(ctx, head); err != nil {
		return remains{}, err
	}
	return s.remains(ctx)
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
		return fault.ErrSessionNotFound
	}
	return fault.Errorf(fault.Unavailable, "the session could not be taken from the store: %w", err)
}

// inUse is called with the lock held.
func (s *Session) inUse() error {
	return fault.Errorf(fault.Busy, "%w by process %d: go on there, or close it there first", fault.ErrSessionInUse, s.owner)
}

// letGo makes the recorder give the session back. A run that was to go on is
// found again in the record, and what waited behind it beside that.
func (s *Session) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		s.queue = append(late(s.run), s.queue...)
	}
	if s.run != nil || len(s.queue) > 0 {
		s.unmended = true
		s.setMark(markWaiting, 1)
	}
	s.left = s.storedQueue()
	for id, q := range s.questions {
		q.stop()
		delete(s.questions, id)
	}
	s.run, s.queue, s.over = nil, nil, true
	s.renew()
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
	s.renew()
}

// catchUp takes over what another process has made of a session at rest. Only
// what it has read is put down under the lock. Called with the lock of the shelf
// held.
func (s *Session) catchUp(ctx context.Context, head store.Session) error {
	if s.record.Last() > head.Last { // something was not stored, and is not part of it
		return errHole
	}
	s.setOwner(head.Owner) // who reads what follows must know that it happens elsewhere
	for s.record.Last() < head.Last {
		entries, err := s.host.stored(ctx, s.id, s.record.Last(), keepBatch)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap), err == nil && len(entries) == 0:
			return errHole
		case err != nil:
			return err
		}
		if err := s.appendStored(entries); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.learn(head); err != nil {
		return err
	}
	s.record.Begin(s.epoch, s.earlier)
	s.record.Reopen()
	s.endRecord()
	return nil
}

func (s *Session) setOwner(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = pid
}

// appendStored continues the record in memory by what the store has.
func (s *Session) appendStored(entries []journal.Entry[event.Event]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Reopen()
	defer s.endRecord()
	for _, e := range entries {
		if e.N != s.record.Last()+1 {
			return errHole
		}
		if _, err := s.record.Append(e.Value); err != nil {
			return err
		}
	}
	s.record.Unpin(s.record.Last())
	return nil
}

// errHole says that a record cannot be continued in memory as the store has it.
var errHole = fault.Errorf(fault.Unavailable, "the record of the session has to be read anew; try again")

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
	if !s.shelf.mu.TryLock() {
		return true // it is just being taken or written
	}
	defer s.shelf.mu.Unlock()
	if s.shelf.lease != nil || !s.isAway() {
		return false
	}
	head, err := s.host.options.Store.Session(ctx, s.id)
	if err == nil {
		err = s.catchUp(ctx, head)
	}
	if err != nil {
		s.vanish(err)
		return false
	}
	return head.Owner != 0
}

// vanish forgets a session that was deleted, or whose record has to be read anew.
func (s *Session) vanish(err error) {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, errHole) {
		s.host.forget(s)
	}
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// isAway says whether the session is at rest and in memory.
func (s *Session) isAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && !s.dropped
}

// unwatched says whether nobody has asked for the session for long.
func (s *Session) unwatched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.used) > followAfter
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
	if !s.isClosed() {
		s.shut(false) // somebody used it meanwhile
		return nil
	}
	return s.amendAtRest(ctx, s.endAtRest)
}

// endAtRest ends a session without a loop, with what a process that was killed
// had left to go on. Called with the lock held.
func (s *Session) endAtRest() {
	s.rests, s.queue = false, nil
	if s.run != nil {
		s.endLocked(s.run, event.Cancelled)
	}
	s.append("", event.SessionClosed{})
	s.renew()
}

// expel ends a session that another process has taken: what is said here would
// not become part of it. Called with the lock of the shelf held.
func (s *Session) expel() {
	s.mu.Lock()
	s.append("", failed(fault.Errorf(fault.Busy, "%w: another process has taken it; what is said here is not stored any more", fault.ErrSessionInUse)))
	s.closed, s.rests, s.over = true, false, true
	s.queue = nil
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	s.host.forget(s)
}
