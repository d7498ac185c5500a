package copilot

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/archive"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// lockActive acquires the lock of the session, and first activates a suspended session. A closed session stays closed.
// On an error, one of [Session.activate], the lock is not held.
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

// activate makes a suspended session accept prompts; it does nothing for others. The conversation is opened when needed.
// Errors: kind [fault.Busy] if another process holds the session or too many are open, kind [fault.Unavailable] if
// the store cannot be written, [fault.ErrStopping].
func (s *Session) activate() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.exclusively(ctx, s.activateGated)
}

// activateGated is activate for callers that have entered the gate.
func (s *Session) activateGated(ctx context.Context) error {
	if !s.machineState().Resumes() {
		return nil
	}
	return s.reopenWith(ctx, s.activateWithoutAgent)
}

// reopenWith reserves room for the session, acquires its lease, and opens it with a function. The caller must have entered the gate.
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

// awaitLoopEnd waits until the session's last loop has ended.
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

// activateWithoutAgent activates the session without opening its conversation.
func (s *Session) activateWithoutAgent(context.Context) error { return s.startLoop(nil) }

// acquireLease acquires the lease of the session, and recovers what its last owner left unfinished. The caller must have entered
// the gate.
func (s *Session) acquireLease(ctx context.Context) error {
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	err := s.acquireLeaseLocked(ctx)
	s.evictRecord(err)
	return err
}

// acquireLeaseLocked is acquireLease for callers that hold the storage's lock.
func (s *Session) acquireLeaseLocked(ctx context.Context) error {
	if keeps, err := s.keepsLease(ctx); keeps || err != nil {
		return err
	}
	lease, err := s.host.options.Store.Acquire(ctx, s.id)
	if err != nil {
		return s.acquireError(err)
	}
	s.storage.lease, s.storage.handedOver, s.storage.deltas = lease, lease.Head().Last, archive.Deltas{}
	left, err := s.inspectStored(ctx, lease.Head())
	if err == nil {
		err = s.adoptLease(lease, left)
	}
	if err != nil {
		s.returnLease(ctx)
	}
	return err
}

// adoptLease makes this process the owner of the session.
func (s *Session) adoptLease(lease *store.Lease, left unfinished) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evicted { // while the store was slow
		return errEvicted
	}
	s.lease, s.stored.meta = leaseHeld, nil
	s.setStored(lease.Head().Closed, owner{})
	s.beginEpoch()
	if head := s.head(); head != nil {
		_ = lease.Update(*head) // before any entry of the epoch; the next write reports a lost lease
	}
	s.repair(left)
	return nil
}

// returnLease releases the lease of a session that could not be recovered; on failure, the recorder tries again. The caller must
// hold the storage's lock.
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

// keepsLease reports whether this process still holds the session and can continue it. It releases the lease of an
// unfinished session, so that acquiring it again recovers the session. The caller must hold the storage's lock.
func (s *Session) keepsLease(ctx context.Context) (bool, error) {
	s.mu.Lock()
	evicted, unfinished := s.evicted, s.lease == leaseReturningUnfinished
	if !evicted && !unfinished && (s.storage.lease != nil || !s.storage.stored) {
		s.lease = leaseHeld
		s.mu.Unlock()
		return true, nil
	}
	s.mu.Unlock()
	switch {
	case evicted:
		return false, errEvicted
	case s.storage.lease == nil:
		return false, nil
	}
	if err := s.storeAndRelease(ctx); err != nil {
		return false, fault.Errorf(fault.Unavailable, "the session could not be stored and released: %w", err)
	}
	return false, nil
}

// errEvicted rejects an evicted object, because another one may represent the session.
var errEvicted = fault.Errorf(fault.Unavailable, "the session was evicted from memory; try again")

// inspectStored updates the session from the store and reads what its last owner left unfinished. It changes nothing that
// would have to be undone.
func (s *Session) inspectStored(ctx context.Context, head store.Session) (unfinished, error) {
	if err := s.syncFromStore(ctx, head); err != nil {
		return unfinished{}, err
	}
	return s.readUnfinished(ctx)
}

// acquireError returns why the lease could not be acquired.
func (s *Session) acquireError(err error) error {
	var inUse *store.InUseError
	switch {
	case errors.As(err, &inUse):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.setStored(false, owner{process: inUse.PID})
		return s.inUseError()
	case errors.Is(err, store.ErrNotFound):
		return fault.ErrSessionNotFound
	}
	return fault.Errorf(fault.Unavailable, "the stored session could not be opened: %w", err)
}

// inUseError returns the error for a session that another process holds. The caller must hold the lock.
func (s *Session) inUseError() error {
	return fault.Errorf(fault.Busy, "%w by process %d, which this one cannot reach: continue there, or end that process", fault.ErrSessionInUse, s.owner.process)
}

// checkHere returns an error if another process holds the session. The caller must hold the lock.
func (s *Session) checkHere() error {
	if s.machine.State() == session.Elsewhere {
		return s.inUseError()
	}
	return nil
}

// checkNoRun returns an error if another process holds the session, or busy if the session has a run.
func (s *Session) checkNoRun(busy error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkHere(); err != nil {
		return err
	}
	if s.machine.Run() != nil {
		return busy
	}
	return nil
}

// requestRelease makes the recorder release the lease when everything is stored. An unfinished run is found again in the
// record; the queue is stored with the head.
func (s *Session) requestRelease() {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting, unfinished := s.machine.Park()
	s.perform()
	unfinished = unfinished || len(waiting) > 0
	if unfinished {
		s.setReaderPosition(positionWaiting, 1)
	}
	s.stored.queue = append(slices.Clone(s.stored.queue), storedQueue(waiting)...)
	s.stored.decodedQueue = nil
	s.lease = s.lease.returning(unfinished)
	s.storeHead()
}

// beginEpoch starts a new epoch: unstored entries of the last one are gone, and their numbers are used again.
// The caller must hold the lock.
func (s *Session) beginEpoch() {
	s.epochs.next(s.record.Last())
	s.record.Begin(s.epochs.current, s.epochs.earlier)
	s.storeHead()
}

// syncFromStore reads what another process has written to the session. It acquires the session's lock only for the changes,
// not while it reads. The caller must hold the storage's lock.
func (s *Session) syncFromStore(ctx context.Context, head store.Session) error {
	if s.record.Last() > head.Last { // entries that were never stored are not part of the record
		return errRereadRecord
	}
	if err := s.beginStoredEpoch(head); err != nil {
		return err
	}
	for s.record.Last() < head.Last {
		entries, err := archive.Read(ctx, s.host.options.Store, s.id, s.record.Last(), storeBatch)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap), err == nil && len(entries) == 0:
			return errRereadRecord
		case err != nil:
			return err
		}
		// Another process may have written more meanwhile, in an epoch that this head does not name.
		entries = entries[:min(len(entries), int(head.Last-s.record.Last()))] //nolint:gosec // a few
		if err := s.appendStored(entries); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.applyHead(head); err != nil {
		return err
	}
	s.record.Reopen()
	s.endRecord()
	return nil
}

// setStored sets the stored state of an inactive session. The caller must hold the lock.
func (s *Session) setStored(closed bool, by owner) {
	s.owner = by
	s.machine.SetStored(closed, by.process != 0)
}

// appendStored appends stored entries to the record in memory.
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

// errRereadRecord reports that the record in memory does not continue in the store: the session must be loaded again.
var errRereadRecord = fault.Errorf(fault.Unavailable, "the session has changed in the store; try again")

// endRecord ends the record of a closed session. Readers of a suspended one wait for its next use, unless the host stops. The caller must
// hold the lock.
func (s *Session) endRecord() {
	if s.machine.State() == session.Closed || s.host.Stopping() {
		s.record.Close()
	}
}

// endInactiveRecord ends the record of a session that is not active, when the host stops.
func (s *Session) endInactiveRecord() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine.State() != session.Active {
		s.endRecord()
	}
}

// refreshOwner updates an inactive session from the store, unless others read or write it for longer than patience, and reports whether
// another process holds it, as far as is known.
func (s *Session) refreshOwner(ctx context.Context, patience time.Duration) (elsewhere bool) {
	if !s.tryLockStorage(ctx, patience) {
		return true // its lease is being acquired, or it is being written
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
		return s.isLoadedSuspended() // then another attempt may succeed
	}
	return head.Owner != 0
}

// readTime is how long others may take to read the session from the store.
const readTime = 100 * time.Millisecond

// tryLockStorage acquires the storage's lock unless it is held for longer than patience, or ctx ends.
func (s *Session) tryLockStorage(ctx context.Context, patience time.Duration) bool {
	for began := time.Now(); !s.storage.mu.TryLock(); <-time.After(time.Millisecond) {
		if time.Since(began) > patience || ctx.Err() != nil {
			return false
		}
	}
	return true
}

// evictRecord evicts a session that was deleted or must be loaded again.
func (s *Session) evictRecord(err error) {
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.host.forgetDeleted(s)
	case errors.Is(err, errRereadRecord):
		s.host.forget(s)
	}
}

// isLoadedSuspended reports whether the session is in memory and not active.
func (s *Session) isLoadedSuspended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.State() != session.Active && !s.evicted
}

// closeSuspended closes a stored session and holds the lease meanwhile.
func (s *Session) closeSuspended() error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.exclusively(ctx, func(ctx context.Context) error {
		if s.machineState() == session.Active {
			s.shutDown((*session.Machine).Close) // activated meanwhile
			return nil
		}
		return s.updateSuspended(ctx, s.endSuspended)
	})
}

// endSuspended closes a session without a loop, including a recovered run. The caller must hold the lock.
func (s *Session) endSuspended() {
	s.inputLocked((*session.Machine).CloseStored)
	s.storeHead()
}

// leaseLost closes a session whose lease another process has acquired: entries made here can no longer be stored. The caller must
// hold the storage's lock.
func (s *Session) leaseLost() {
	s.mu.Lock()
	s.recordInRun("", event.NewSessionError(fault.Errorf(fault.Busy, "%w: another process has taken it over; this process no longer stores what happens in it", fault.ErrSessionInUse)))
	s.inputLocked((*session.Machine).Lose)
	s.lease = leaseNone
	s.mu.Unlock()
	s.host.forget(s)
}
