package copilot

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/archive"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// sessionStorage connects a session with the store. Its lock must be acquired before that of the session, and may be held while the
// disk is slow.
type sessionStorage struct {
	mu         sync.Mutex
	lease      *store.Lease   // nil while this process does not hold the session
	stored     bool           // the session is in the store
	handedOver uint64         // last number passed to the store
	deltas     archive.Deltas // among the entries passed to the store

	// Changes besides the record that are not stored yet.
	head      *store.Session
	positions map[string]uint64
}

// unstored are the changes of a session, besides entries, that the recorder has not taken yet.
type unstored struct {
	notified  bool              // the recorder is going to write the session
	head      bool              // the stored head is outdated
	positions map[string]uint64 // of readers
}

// storeBatch is how many entries are passed to the store at once.
const storeBatch = 512

// storePending is storeNow for the recorder: it leaves a session for later whose storage is in use.
func (s *Session) storePending(ctx context.Context, sync bool) (done bool, err error) {
	if !s.storage.mu.TryLock() {
		return false, nil // the lease is being acquired; other sessions must not wait for that
	}
	defer s.storage.mu.Unlock()
	return s.storeNow(ctx, sync)
}

// storeNow stores changes, and releases the lease when nothing more follows. done is false if something is left for later.
// sync permits waiting for the disk, which is not allowed while the store fails. The caller must hold the storage's lock.
func (s *Session) storeNow(ctx context.Context, sync bool) (done bool, err error) {
	over, dropped := s.takeChanges()
	if s.storage.lease == nil {
		if done, err := s.createStored(ctx, dropped, sync); s.storage.lease == nil {
			return done, err
		}
	}
	if s.storage.lease.IsLost() {
		return true, s.checkLease(store.ErrLost)
	}
	if err := s.storeAll(); err != nil {
		s.trimUnstored()
		return errors.Is(err, store.ErrLost), s.checkLease(err)
	}
	lease := s.storage.lease
	s.record.Unpin(lease.Stored())
	if lease.Stored() < s.record.Last() {
		s.trimUnstored()
		return false, nil
	}
	if !over || !sync {
		return !over, nil
	}
	return s.releaseLease(ctx)
}

// createStored creates the session in the store, unless it is there already or was evicted. The caller must hold the storage's
// lock.
func (s *Session) createStored(ctx context.Context, dropped, sync bool) (done bool, err error) {
	switch {
	case s.storage.stored: // the lease was released or lost
		s.storeReaderPositions()
		return true, nil
	case dropped: // the store did not accept it while it was in memory
		return true, nil
	case sync:
		err = s.storage.create(ctx, s.host.options.Store)
	}
	s.trimUnstored()
	return false, err
}

// storeReaderPositions stores positions that were set while the lease was being released. The caller must hold the storage's
// lock.
func (s *Session) storeReaderPositions() {
	for name, n := range s.storage.positions {
		_ = s.host.options.Store.SetPosition(s.id, name, n) // on failure, an older one stays
	}
	s.storage.positions = nil
}

// takeChanges collects the changes, and reports whether nothing more will follow. The caller must hold the storage's lock.
func (s *Session) takeChanges() (over, dropped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unstored.notified = false
	if s.unstored.head || !s.storage.stored {
		s.unstored.head = false
		if head := s.head(); head != nil {
			s.storage.head = head
		}
	}
	if s.storage.positions == nil {
		s.storage.positions = s.unstored.positions
	} else {
		maps.Copy(s.storage.positions, s.unstored.positions)
	}
	s.unstored.positions = nil
	return s.lease != leaseHeld, s.evicted
}

// create creates the session in the store. The caller must hold the storage's lock.
func (f *sessionStorage) create(ctx context.Context, into *store.Store) error {
	if f.head == nil {
		return fault.Errorf(fault.Internal, "the session cannot be described")
	}
	lease, err := into.Create(ctx, *f.head)
	if errors.Is(err, store.ErrExists) { // created by a call that seemed to fail
		lease, err = into.Acquire(ctx, f.head.ID)
	}
	if err != nil {
		return err
	}
	f.lease, f.stored, f.head = lease, true, nil
	return nil
}

// storeAll stores everything that is not stored yet: entries first, then the head, then reader positions. So a kill
// never leaves a head or a position that refers to missing entries, and an outdated head is completed from the entries.
func (s *Session) storeAll() error {
	lease := s.storage.lease
	if err := s.storeEntries(lease); err != nil {
		return err
	}
	if s.storage.head != nil {
		if err := lease.Update(*s.storage.head); err != nil {
			return err
		}
		s.storage.head = nil
	}
	for name, n := range s.storage.positions {
		if err := lease.Position(name, n); err != nil {
			return err
		}
	}
	s.storage.positions = nil
	return nil
}

func (s *Session) storeEntries(lease *store.Lease) error {
	for {
		entries, err := s.record.Peek(s.storage.handedOver, storeBatch)
		var gap *journal.GapError
		if errors.As(err, &gap) { // the store failed for too long
			if err := archive.AppendGap(lease, gap); err != nil {
				return err
			}
			s.storage.handedOver = gap.First - 1
			continue
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			if err := archive.Append(lease, e); err != nil {
				return err
			}
			s.storage.handedOver = e.N
			s.scheduleDrop(s.storage.deltas.Apply(e))
		}
	}
}

// scheduleDrop drops deltas from the store after [deltaRetention]. If the lease is released first, they stay, which is harmless.
func (s *Session) scheduleDrop(spans []store.Span) {
	if len(spans) == 0 {
		return
	}
	time.AfterFunc(deltaRetention, func() {
		s.storage.mu.Lock()
		defer s.storage.mu.Unlock()
		if s.storage.lease != nil {
			_ = s.storage.lease.Drop(spans...) // fails only without the lease
		}
	})
}

// maxExcess is the factor by which a record may exceed its budget while the store fails.
const maxExcess = 4

// trimUnstored drops entries that the store does not accept and memory can no longer keep. The caller must hold the storage's
// lock.
func (s *Session) trimUnstored() {
	failing := s.storage.lease == nil || s.host.options.Store.Failing()
	if failing && s.record.Excess() > maxExcess*s.host.options.RecordBudget {
		s.record.Unpin(s.record.Last())
	}
}

// checkLease closes a session whose lease another process has acquired.
func (s *Session) checkLease(err error) error {
	if !errors.Is(err, store.ErrLost) {
		if errors.Is(err, store.ErrBacklog) {
			return nil // the store catches up
		}
		return err
	}
	s.storage.lease = nil
	s.leaseLost()
	return err
}

// leaseState is the state of this process's lease of a stored session.
type leaseState int

const (
	leaseHeld                leaseState = iota // this process writes the session, or is the only one that knows it
	leaseReturning                             // nothing more is written; the recorder releases the lease when everything is stored
	leaseReturningUnfinished                   // likewise; the next owner must recover a run
	leaseNone                                  // any process may acquire the lease
)

// returning returns the state of a session to which nothing more is written.
func (l leaseState) returning(unfinished bool) leaseState {
	switch {
	case l == leaseNone:
		return l
	case unfinished || l == leaseReturningUnfinished:
		return leaseReturningUnfinished
	}
	return leaseReturning
}

// storeAndRelease stores everything and releases the lease. The caller must hold the storage's lock.
func (s *Session) storeAndRelease(ctx context.Context) error {
	s.takeChanges()
	err := s.storeAll()
	if err == nil {
		_, err = s.releaseLease(ctx)
	}
	return err
}

// releaseLease lets other processes acquire the session. The caller must hold the storage's lock.
func (s *Session) releaseLease(ctx context.Context) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	switch err = s.storage.lease.Release(ctx); {
	case errors.Is(err, store.ErrLost): // the record in memory may have entries that nobody else has
		_ = s.checkLease(err)
		return true, nil
	case err != nil:
		return false, err
	}
	s.storage.lease = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = leaseNone
	return true, nil
}

// storeTimeout limits store calls that should take milliseconds; another program may have locked the file.
const storeTimeout = 10 * time.Second
