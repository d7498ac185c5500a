package copilot

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// maxTitle is the maximum length of a title, in characters.
const maxTitle = 200

// Rename sets the session's title, which titles of the agent do not replace. Closed sessions can be renamed. Errors: kind
// [fault.Invalid] for a title that is empty or too long, [fault.ErrSessionInUse], kind [fault.Unavailable].
func (s *Session) Rename(ctx context.Context, title string) error {
	title = strings.Join(strings.FieldsFunc(title, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }), " ")
	switch n := utf8.RuneCountInString(title); {
	case title == "" || !utf8.ValidString(title):
		return fault.Errorf(fault.Invalid, "the title is empty")
	case n > maxTitle:
		return fault.Errorf(fault.Invalid, "the title has %d characters; %d are allowed", n, maxTitle)
	}
	return s.update(ctx, func() {
		s.title, s.titledByUser = secret.Mask(title), true
		s.recordInRun("", event.TitleChanged{Title: title})
	})
}

// update calls change with the session's lock held. It holds the lease of an inactive session meanwhile.
func (s *Session) update(ctx context.Context, change func()) error {
	leave, err := s.enterGate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if s.tryAmend(change) {
		return nil
	}
	return s.updateSuspended(ctx, change)
}

// updateSuspended is update for an inactive session. The caller must have entered the gate.
func (s *Session) updateSuspended(ctx context.Context, change func()) error {
	if err := s.awaitLoopEnd(ctx); err != nil {
		return err
	}
	defer s.requestRelease()
	if err := s.acquireLease(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Reopen()
	defer s.endRecord()
	change()
	return nil
}

// tryAmend is update for an active session; it returns false for others.
func (s *Session) tryAmend(change func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine.State() != session.Active {
		return false
	}
	change()
	return true
}

// Delete closes a session and deletes it with its record and the agent's copy, for which it may start an agent process.
// Errors: [fault.ErrSessionNotFound], [fault.ErrSessionInUse], kind [fault.Unavailable] if the store cannot be written;
// [fault.ErrCopyLeft], with the cause, if only the agent's copy remains.
func (h *Host) Delete(ctx context.Context, id string) error {
	s, err := h.Session(ctx, id)
	if err != nil {
		return err
	}
	leave, err := s.enterGate(ctx) // prevents its activation
	if err != nil {
		return err
	}
	defer leave()
	s.shutDown((*session.Machine).Close)
	if err := s.remove(ctx); err != nil {
		return err
	}
	h.forgetDeleted(s)
	if err := h.deleteAgentCopy(ctx, id); err != nil {
		return fault.Errorf(fault.KindOf(err), "%w: %w", fault.ErrCopyLeft, err)
	}
	return nil
}

// remove deletes the session from the store.
func (s *Session) remove(ctx context.Context) error {
	if s.host.options.Store == nil {
		return nil
	}
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	if lease := s.storage.lease; lease != nil {
		s.takeChanges()
		err := s.storeAll() // if the deletion fails, the stored session is complete
		if err == nil {
			err = lease.Release(ctx)
		}
		if err != nil {
			return fault.Errorf(fault.Unavailable, "the stored session could not be deleted: %w", err)
		}
		s.storage.lease = nil
		s.leaseReturned()
	}
	err := s.host.options.Store.Delete(ctx, s.id)
	var inUse *store.InUseError
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound) && !s.storage.stored:
		s.storage.stored = true // prevents the recorder from creating it again
		return nil
	case errors.As(err, &inUse), errors.Is(err, store.ErrNotFound):
		return s.acquireError(err)
	}
	return fault.Errorf(fault.Unavailable, "the stored session could not be deleted: %w", err)
}

// deleteAgentCopy removes the agent's copies of conversations.
func (h *Host) deleteAgentCopy(ctx context.Context, ids ...string) error {
	lease, err := h.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer lease.Release()
	var faults []error
	for _, id := range ids {
		faults = append(faults, lease.Agent.Forget(ctx, id))
	}
	return errors.Join(faults...)
}

// Fork copies a session, with its record and conversation, and activates the copy. The original does not change. Errors: those
// of [Host.Start], kind [fault.Busy] during a run.
func (h *Host) Fork(ctx context.Context, id string) (*Session, error) {
	from, err := h.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	switch state := from.Info().State; state {
	case StateIdle, StateClosed:
	case StateElsewhere:
		return nil, fault.Errorf(fault.Busy, "%w by process %d: fork it there", fault.ErrSessionInUse, from.Info().Owner)
	case StateRunning, StateQueued, StateWaiting:
		return nil, fault.Errorf(fault.Busy, "the session can be forked when the current run has ended")
	}
	if err := h.reserveSession(); err != nil {
		return nil, err
	}
	s, err := h.fork(ctx, from)
	if err != nil {
		h.releaseSession()
		return nil, err
	}
	return s, h.register(s)
}

func (h *Host) fork(ctx context.Context, from *Session) (*Session, error) {
	lease, err := h.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	id, err := lease.Agent.Fork(ctx, from.id)
	if fault.KindOf(err) == fault.NotFound {
		id, err = newID(), nil // the agent has no conversation to copy
	}
	if err != nil {
		lease.Release()
		return nil, err
	}
	s := from.cloneForFork(id)
	if err := s.copyRecord(ctx, from); err != nil {
		lease.Release()
		return nil, err
	}
	return s, s.open(ctx, lease)
}

// cloneForFork returns a session with the settings of this one, without its record.
func (s *Session) cloneForFork(id string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newSession(s.host, id, s.model, Start{
		Origin: s.origin, Directory: s.directory, Policy: s.policy, AskUser: s.askUser, Tools: s.tools,
		Capabilities: s.capabilities, Attributes: s.attributes,
	})
	c.title, c.titledByUser, c.usage, c.remembered = s.title, s.titledByUser, s.usage, s.remembered
	c.modelUnresolved, c.recent = s.modelUnresolved, s.recent
	c.machine.SetHistory(s.machine.History())
	return c
}

// copyRecord copies the record of another session, without superseded deltas. An error event replaces missing entries; a
// run that started meanwhile ends in the copy.
func (s *Session) copyRecord(ctx context.Context, from *Session) error {
	last := from.record.Last()
	var left session.Unfinished
	now, cancel := context.WithCancel(ctx)
	cancel() // Next does not wait
	for after := uint64(0); after < last; {
		entries, err := from.record.Next(now, after, storeBatch)
		var gap *journal.GapError
		if errors.As(err, &gap) {
			after = gap.First - 1
			_, err = s.record.Append(event.Event{Time: time.Now(), Body: event.NewSessionError(fault.Errorf(fault.Internal, "some events of the original are no longer kept"))})
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if after = e.N; e.Superseded || e.N > last {
				continue
			}
			_, _ = s.record.Append(e.Value) // the record is open
			left.Apply(e.Value)
		}
	}
	s.endForkedRun(left)
	s.lastRunEnd = s.record.Last()
	return nil
}

// endForkedRun ends the run, with its questions, that continues at the end of the copy.
func (s *Session) endForkedRun(left session.Unfinished) {
	if left.Run == "" {
		return
	}
	end := func(b event.Body) { _, _ = s.record.Append(event.Event{Time: time.Now(), Run: left.Run, Body: b}) }
	for _, q := range slices.Concat(left.Orphans, left.Questions) {
		end(event.QuestionClosed{ID: q.ID, Kind: q.Kind, Ending: event.Withdrawn})
	}
	end(event.RunEnded{Outcome: event.Interrupted, Text: "the session was forked here"})
}

// SetReaderPosition stores the position of a reader under its name; 0 removes it. After the process has ended,
// [Session.ReaderPositions] returns this position, or one that is at most a second older.
func (s *Session) SetReaderPosition(name string, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.host.recorder == nil:
		return
	case s.lease == leaseNone:
		_ = s.host.options.Store.SetPosition(s.id, name, n) // on failure the older position stays
		return
	}
	s.setReaderPosition(name, n)
}

// setReaderPosition is SetReaderPosition for callers that hold the lock.
func (s *Session) setReaderPosition(name string, n uint64) {
	if s.readerPositions == nil {
		s.readerPositions = map[string]uint64{}
	}
	s.readerPositions[name] = n
	s.notifyRecorder()
}

// ReaderPositions returns the stored positions of readers, none of them after the end of the record.
func (s *Session) ReaderPositions(ctx context.Context) (map[string]uint64, error) {
	if s.host.options.Store == nil {
		return nil, nil
	}
	marks, err := s.host.options.Store.Positions(ctx, s.id)
	delete(marks, positionWaiting)
	last := s.record.Last()
	for name, n := range marks {
		marks[name] = min(n, last) // later entries were not stored
	}
	return marks, err
}

// DeleteExpired deletes unused sessions, with the agent's copies: those that did not change for longer
// than age, then the oldest ones until the store has at most the given number of bytes. 0 means no limit. With origins, it deletes
// only sessions of these. It returns the number of deleted sessions.
func (h *Host) DeleteExpired(ctx context.Context, age time.Duration, bytes int64, origins ...string) (int, error) {
	if h.options.Store == nil || age <= 0 && bytes <= 0 {
		return 0, nil
	}
	ids, err := h.options.Store.DeleteExpired(ctx, age, bytes, origins...)
	for _, id := range ids {
		if s, ok := h.Loaded(id); ok {
			h.forgetDeleted(s)
		}
	}
	if len(ids) > 0 {
		err = errors.Join(err, h.deleteAgentCopy(ctx, ids...))
	}
	return len(ids), err
}

// StoreFailure returns why sessions currently cannot be stored; nil if they can, or without a store.
func (h *Host) StoreFailure() *store.Failure {
	if h.options.Store == nil {
		return nil
	}
	return h.options.Store.Failure()
}
