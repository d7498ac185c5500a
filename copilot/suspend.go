package copilot

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// A session is at rest when this process does not work with it: the store has
// it, and any process may take it. One that a client closed stays closed until
// it is reopened; any other goes on with its next use.

// lockActive takes the lock of a session that does not rest, after waking it if it
// does. Errors: those of [Session.activate]; then the lock is not held.
func (s *Session) lockActive() error {
	for {
		s.mu.Lock()
		if !s.machine.State().Resumes() {
			return nil
		}
		s.mu.Unlock()
		if err := s.activate(); err != nil {
			return err
		}
	}
}

// activate makes a session at rest ready for prompts; it does nothing for others.
// The agent's conversation is taken up when it is needed. Errors: kind [fault.Busy]
// when another process has the session or too many are open, kind [fault.Unavailable]
// when the store cannot be written, [fault.ErrStopping].
func (s *Session) activate() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	leave, err := s.enterGate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return s.activateGated(ctx)
}

// activateGated is activate with the gate entered.
func (s *Session) activateGated(ctx context.Context) error {
	if !s.resumes() {
		return nil
	}
	return s.reopenWith(ctx, s.activateWithoutAgent)
}

// reopenWith takes a place and the session itself, and opens it in one of two
// ways. Called with the gate entered.
func (s *Session) reopenWith(ctx context.Context, open func(context.Context) error) error {
	if err := s.awaitLoopEnd(ctx); err != nil {
		return err
	}
	if err := s.host.reserveSession(); err != nil {
		return err
	}
	err := s.acquireLease(ctx)
	if err == nil {
		err = open(ctx)
	}
	if err != nil {
		s.requestRelease()
		s.host.releaseSession()
		return err
	}
	return s.host.register(s)
}

// awaitLoopEnd waits for a loop that is still ending.
func (s *Session) awaitLoopEnd(ctx context.Context) error {
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// activateWithoutAgent opens the session without its conversation.
func (s *Session) activateWithoutAgent(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startLoop(nil)
	return nil
}

// acquireLease takes the session from the store, so that it may be written, and puts in
// order what its last owner could not. Called with the gate entered.
func (s *Session) acquireLease(ctx context.Context) error {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	err := s.acquireLeaseLocked(ctx)
	s.evictRecord(err)
	return err
}

// acquireLeaseLocked is acquireLease with the lock of the storage held.
func (s *Session) acquireLeaseLocked(ctx context.Context) error {
	if keeps, err := s.keepsLease(ctx); keeps || err != nil {
		return err
	}
	lease, err := s.host.options.Store.Acquire(ctx, s.id)
	if err != nil {
		return s.acquireError(err)
	}
	s.storage.lease, s.storage.handedOver, s.storage.pieces = lease, lease.Head().Last, supersededDeltas{}
	left, err := s.inspectStored(ctx, lease.Head())
	if err == nil {
		err = s.adoptLease(lease, left)
	}
	if err != nil {
		s.returnLease(ctx)
	}
	return err
}

// adoptLease makes the session one of this process.
func (s *Session) adoptLease(lease *store.Lease, left unfinished) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evicted { // while the disk was slow
		return errEvicted
	}
	s.lease = leaseHeld
	s.setStored(lease.Head().Closed, 0)
	s.beginEpoch()
	if head := s.head(); head != nil {
		_ = lease.Update(*head) // before any entry of the epoch; a lease that is lost tells it later
	}
	s.repair(left)
	return nil
}

// returnLease gives a session back that could not be taken over; if that cannot be
// done now, the recorder does it. Called with the lock of the storage held.
func (s *Session) returnLease(ctx context.Context) {
	later, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if s.storage.lease.Release(later) == nil {
		s.storage.lease = nil
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = leaseReturningUnfinished
	s.notifyRecorder()
}

// keepsLease says whether the session is held already, and in order. One that was
// let go in the middle of something is given back, to be taken anew. Called with
// the lock of the storage held.
func (s *Session) keepsLease(ctx context.Context) (bool, error) {
	s.mu.Lock()
	dropped, unmended := s.evicted, s.lease == leaseReturningUnfinished
	if !dropped && !unmended && (s.storage.lease != nil || !s.storage.stored) {
		s.lease = leaseHeld
		s.mu.Unlock()
		return true, nil
	}
	s.mu.Unlock()
	switch {
	case dropped:
		return false, errEvicted
	case s.storage.lease == nil:
		return false, nil
	}
	s.takeChanges()
	err := s.storeAll()
	if err == nil {
		_, err = s.releaseLease(ctx)
	}
	if err != nil {
		return false, fault.Errorf(fault.Unavailable, "the session could not be given back to the store: %w", err)
	}
	return false, nil
}

// errEvicted is that of a session that somebody still has in hand while another
// of its name may be at work.
var errEvicted = fault.Errorf(fault.Unavailable, "the session has left memory meanwhile; try again")

// inspectStored brings the session up to what the store has, and finds what its last owner
// has left. Nothing is changed that would have to be undone.
func (s *Session) inspectStored(ctx context.Context, head store.Session) (unfinished, error) {
	if err := s.syncFromStore(ctx, head); err != nil {
		return unfinished{}, err
	}
	return s.readUnfinished(ctx)
}

// acquireError says why a session could not be taken.
func (s *Session) acquireError(err error) error {
	var inUse *store.InUseError
	switch {
	case errors.As(err, &inUse):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.setStored(false, inUse.PID)
		return s.inUseError()
	case errors.Is(err, store.ErrNotFound):
		return fault.ErrSessionNotFound
	}
	return fault.Errorf(fault.Unavailable, "the session could not be taken from the store: %w", err)
}

// inUseError is called with the lock held.
func (s *Session) inUseError() error {
	return fault.Errorf(fault.Busy, "%w by process %d: go on there, or close it there first", fault.ErrSessionInUse, s.owner)
}

// requestRelease makes the recorder give the session back. A run that was to go on is
// found again in the record, and what waited behind it beside that.
func (s *Session) requestRelease() {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, unfinished := s.machine.Park()
	s.perform()
	unfinished = unfinished || len(waiting) > 0
	if unfinished {
		s.setReaderPosition(positionWaiting, 1)
	}
	s.leftQueue = append(slices.Clone(s.leftQueue), storedQueue(waiting)...)
	s.lease = s.lease.returning(unfinished)
	s.storeHead()
}

// beginEpoch begins a new epoch: what the last one had not stored is gone, and
// its numbers are given again. Called with the lock held.
func (s *Session) beginEpoch() {
	s.earlierEpochs = append(s.earlierEpochs, journal.Position{Epoch: s.epoch, N: s.record.Last()})
	if len(s.earlierEpochs) > maxEpochs {
		s.earlierEpochs = s.earlierEpochs[len(s.earlierEpochs)-maxEpochs:]
	}
	s.epoch = newEpoch()
	s.record.Begin(s.epoch, s.earlierEpochs)
	s.storeHead()
}

// syncFromStore takes over what another process has made of a session at rest. Only
// what it has read is put down under the lock. Called with the lock of the storage
// held.
func (s *Session) syncFromStore(ctx context.Context, head store.Session) error {
	if s.record.Last() > head.Last { // something was not stored, and is not part of it
		return errRereadRecord
	}
	s.setOwner(head) // who reads what follows must know that it happens elsewhere
	for s.record.Last() < head.Last {
		entries, err := s.host.readStored(ctx, s.id, s.record.Last(), storeBatch)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap), err == nil && len(entries) == 0:
			return errRereadRecord
		case err != nil:
			return err
		}
		if err := s.appendStored(entries); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.applyMeta(head); err != nil {
		return err
	}
	s.record.Begin(s.epoch, s.earlierEpochs)
	s.record.Reopen()
	s.endRecord()
	return nil
}

func (s *Session) setOwner(head store.Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setStored(head.Closed, head.Owner)
}

// setStored takes over what the store says of a session at rest. Called with the lock held.
func (s *Session) setStored(closed bool, owner int) {
	s.owner = owner
	s.machine.SetStored(closed, owner != 0)
}

// appendStored continues the record in memory by what the store has.
func (s *Session) appendStored(entries []journal.Entry[event.Event]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Reopen()
	defer s.endRecord()
	for _, e := range entries {
		if e.N != s.record.Last()+1 {
			return errRereadRecord
		}
		if _, err := s.record.Append(e.Value); err != nil {
			return err
		}
	}
	s.record.Unpin(s.record.Last())
	return nil
}

// errRereadRecord says that a record cannot be continued in memory as the store has it.
var errRereadRecord = fault.Errorf(fault.Unavailable, "the record of the session has to be read anew; try again")

// endRecord ends the record of a session that is closed, and of no other:
// readers of one at rest wait for its next use. Called with the lock held.
func (s *Session) endRecord() {
	if s.machine.State() == session.Closed {
		s.record.Close()
	}
}

// refreshOwner looks at what the store knows of a session at rest, and tells whether
// another process has it.
func (s *Session) refreshOwner(ctx context.Context) (elsewhere bool) {
	if !s.storage.mu.TryLock() {
		return true // it is just being taken or written
	}
	defer s.storage.mu.Unlock()
	if s.storage.lease != nil || !s.isLoadedSuspended() {
		return false
	}
	head, err := s.host.options.Store.Session(ctx, s.id)
	if err == nil {
		err = s.syncFromStore(ctx, head)
	}
	if err != nil {
		s.evictRecord(err)
		return false
	}
	return head.Owner != 0
}

// evictRecord forgets a session that was deleted, or whose record has to be read anew.
func (s *Session) evictRecord(err error) {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, errRereadRecord) {
		s.host.forgetDeleted(s)
	}
}

// isLoadedSuspended says whether the session is at rest and in memory.
func (s *Session) isLoadedSuspended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.State() != session.Active && !s.evicted
}

// isUnused says whether nobody has asked for the session for long.
func (s *Session) isUnused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lastUse) > followAfter
}

// closeSuspended closes a session that this process does not work with, which it is
// held for.
func (s *Session) closeSuspended() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	leave, err := s.enterGate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if s.isActive() {
		s.shutDown((*session.Machine).Close) // somebody used it meanwhile
		return nil
	}
	return s.updateSuspended(ctx, s.endSuspended)
}

// endSuspended ends a session without a loop, with what a process that was killed
// had left to go on. Called with the lock held.
func (s *Session) endSuspended() {
	s.inputLocked((*session.Machine).CloseStored)
	s.storeHead()
}

// leaseLost ends a session that another process has taken: what is said here would
// not become part of it. Called with the lock of the storage held.
func (s *Session) leaseLost() {
	s.mu.Lock()
	s.recordNow("", failed(fault.Errorf(fault.Busy, "%w: another process has taken it; what is said here is not stored any more", fault.ErrSessionInUse)))
	s.inputLocked((*session.Machine).Lose)
	s.lease = leaseNone
	s.mu.Unlock()
	s.host.forgetDeleted(s)
}
