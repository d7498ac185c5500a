package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// sessionStorage is the place of a session in the store. Its lock is taken before that of
// the session; what is done under it may wait for the disk.
type sessionStorage struct {
	mu         sync.Mutex
	lease      *store.Lease     // nil: this process does not hold the session
	stored     bool             // the store knows the session
	handedOver uint64           // number up to which the record was handed over
	pieces     supersededDeltas // of what was handed over

	// What is to be handed over besides the record.
	head      *store.Session
	positions map[string]uint64
}

// storeBatch is how many entries are handed over at a time.
const storeBatch = 512

// storePending hands over what is new, and gives the session back when it has ended.
// It is called by the recorder alone. done is false when there is more to do
// later.
//
// While the store fails, what would wait for the disk is left for later; sync
// says whether it may.
func (s *Session) storePending(ctx context.Context, sync bool) (done bool, err error) {
	if !s.storage.mu.TryLock() {
		return false, nil // it is being taken; others must not wait for that
	}
	defer s.storage.mu.Unlock()
	over, dropped := s.takeChanges()
	if s.storage.lease == nil {
		if done, err := s.createStored(ctx, dropped, sync); s.storage.lease == nil {
			return done, err
		}
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

// createStored makes the session known to the store, if that is to be. Called with the
// lock of the storage held.
func (s *Session) createStored(ctx context.Context, dropped, sync bool) (done bool, err error) {
	switch {
	case s.storage.stored: // it rests, or was lost
		s.storeReaderPositions()
		return true, nil
	case dropped: // the store never took it, and memory cannot keep it
		return true, nil
	case sync:
		err = s.storage.create(ctx, s.host.options.Store)
	}
	s.trimUnstored()
	return false, err
}

// storeReaderPositions stores the positions of readers that came when the session had just
// been given back. Called with the lock of the storage held.
func (s *Session) storeReaderPositions() {
	for name, n := range s.storage.positions {
		_ = s.host.options.Store.SetPosition(s.id, name, n) // while it cannot be written, an older one stays
	}
	s.storage.positions = nil
}

// takeChanges takes over what has changed, and says whether nothing more will follow.
// Called with the lock of the storage held.
func (s *Session) takeChanges() (over, dropped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorderNotified = false
	if s.headChanged || !s.storage.stored {
		s.headChanged = false
		if head := s.head(); head != nil {
			s.storage.head = head
		}
	}
	if s.storage.positions == nil {
		s.storage.positions = s.readerPositions
	} else {
		maps.Copy(s.storage.positions, s.readerPositions)
	}
	s.readerPositions = nil
	return s.lease != leaseHeld, s.evicted
}

// create makes the session known to the store. Called with the lock of the
// storage held.
func (f *sessionStorage) create(ctx context.Context, into *store.Store) error {
	if f.lease != nil || f.stored {
		return nil
	}
	if f.head == nil {
		return fault.Errorf(fault.Internal, "the session cannot be described")
	}
	lease, err := into.Create(ctx, *f.head)
	if errors.Is(err, store.ErrExists) { // it has been made by a call that seemed to fail
		lease, err = into.Acquire(ctx, f.head.ID)
	}
	if err != nil {
		return err
	}
	f.lease, f.stored, f.head = lease, true, nil
	return nil
}

// storeAll gives the store what it does not have yet. The entries go first, what
// is known of the session and how far readers are follow them: so neither tells of
// what a kill has taken, and what is missing in it is found in the entries.
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
		if errors.As(err, &gap) { // the store could not take them for too long
			if err := lease.Append(gapError(gap)); err != nil {
				return err
			}
			s.storage.handedOver = gap.First - 1
			continue
		}
		if len(entries) == 0 {
			return nil
		}
		for _, e := range entries {
			if err := storeEntry(lease, e); err != nil {
				return err
			}
			s.storage.handedOver = e.N
			s.scheduleDrop(s.storage.pieces.apply(e))
		}
	}
}

// maxText is how much of a text can be searched, in bytes.
const maxText = 64 << 10

// storeEntry hands an event over, and what can be found of it.
func storeEntry(lease *store.Lease, e journal.Entry[event.Event]) error {
	if err := lease.Append(pack(e)); err != nil {
		return err
	}
	if kind, text := findable(e.Value); text != "" {
		text = text[:min(len(text), maxText)]
		_ = lease.Index(store.Text{Number: e.N, Kind: string(kind), Body: text}) // the record is what counts
	}
	if _, over := e.Value.Body.(event.RunEnded); over {
		_ = lease.Merge() // the next run will try again
	}
	return nil
}

// pack makes an entry of an event. The result of a tool lies apart: models read
// the same file again and again.
func pack(e journal.Entry[event.Event]) store.Entry {
	entry := store.Entry{Number: e.N}
	if b, ok := e.Value.Body.(event.ToolEnded); ok && b.Result != nil && len(b.Result.Content) > event.EntryCost {
		entry.Payload = []byte(b.Result.Content)
		b.Result = &event.ToolResult{Detail: b.Result.Detail}
		e.Value.Body = b
	}
	var err error
	if entry.Data, err = event.Encode(e.Value); err != nil {
		raw, _ := json.Marshal(err.Error())                                                                         // a string always can be
		entry.Data, _ = event.Encode(event.Event{Time: time.Now(), Body: event.Notice{Kind: noticeLost, Raw: raw}}) // and JSON
	}
	return entry
}

// unpack reads what pack has made. A hole is a [journal.GapError].
func unpack(entry store.Entry) (journal.Entry[event.Event], error) {
	e := journal.Entry[event.Event]{N: entry.Number}
	var err error
	if e.Value, err = event.Decode(entry.Data); err != nil {
		return e, err
	}
	switch b := e.Value.Body.(type) {
	case event.ToolEnded:
		if entry.Payload != nil && b.Result != nil {
			b.Result.Content = string(entry.Payload)
		}
	case event.Notice:
		if b.Kind == noticeGap {
			var gap journal.GapError
			_ = json.Unmarshal(b.Raw, &gap)
			gap.First = entry.Number + 1
			return e, &gap
		}
	}
	return e, nil
}

// noticeLost is the kind of the [event.Notice] that stands in the store for an event
// that could not be encoded.
const noticeLost = "portal.not_stored"

// noticeGap is the kind of the [event.Notice] that stands in the store for events
// that it never got. Its number is that of the last of them.
const noticeGap = "portal.hole"

func gapError(gap *journal.GapError) store.Entry {
	raw, _ := json.Marshal(gap)                                                                           // numbers always can be
	data, _ := event.Encode(event.Event{Time: time.Now(), Body: event.Notice{Kind: noticeGap, Raw: raw}}) // and JSON
	return store.Entry{Number: gap.First - 1, Data: data}
}

// maxExcess is how many budgets a record may exceed its own by while the store
// fails. One that is only behind catches up.
const maxExcess = 4

// trimUnstored lets go of what memory cannot keep any longer when the store does not
// take it: the portal goes on. Called with the lock of the storage held.
func (s *Session) trimUnstored() {
	failing := s.storage.lease == nil || s.host.options.Store.Failing()
	if failing && s.record.Excess() > maxExcess*s.host.options.RecordBudget {
		s.record.Unpin(s.record.Last())
	}
}

// checkLease ends a session that another process has taken: what is said in it here
// would not be true.
func (s *Session) checkLease(err error) error {
	if !errors.Is(err, store.ErrLost) {
		if errors.Is(err, store.ErrBacklog) {
			return nil // it catches up
		}
		return err
	}
	s.storage.lease = nil
	s.leaseLost()
	return err
}

// leaseState is what this process has of a session that is stored.
type leaseState int

const (
	leaseHeld                leaseState = iota // it writes the session, or is the only one that knows it
	leaseReturning                             // nothing more is written; the recorder gives it back when all is stored
	leaseReturningUnfinished                   // likewise; whoever takes it next has to recover a run
	leaseNone                                  // nothing: any process may take it
)

// returning is the state of a session of which nothing more is written.
func (l leaseState) returning(unfinished bool) leaseState {
	switch {
	case l == leaseNone:
		return l
	case unfinished || l == leaseReturningUnfinished:
		return leaseReturningUnfinished
	}
	return leaseReturning
}

func (s *Session) leaseReturned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lease = leaseNone
}

// releaseLease lets other processes have the session. Called with the lock of the
// storage held.
func (s *Session) releaseLease(ctx context.Context) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err = s.storage.lease.Release(ctx)
	if err != nil && !errors.Is(err, store.ErrLost) {
		return false, err
	}
	s.storage.lease = nil
	s.leaseReturned()
	return true, nil
}

// storeTimeout is how long the store gets for what should take milliseconds. A
// file that another program has locked takes it all.
const storeTimeout = 10 * time.Second
