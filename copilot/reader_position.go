package copilot

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/journal"
)

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
	if s.unstored.positions == nil {
		s.unstored.positions = map[string]uint64{}
	}
	s.unstored.positions[name] = n
	s.notifyRecorder()
}

// ReaderPositions returns the stored positions of readers, none of them after the end of the record.
func (s *Session) ReaderPositions(ctx context.Context) (map[string]uint64, error) {
	if s.host.options.Store == nil {
		return nil, nil
	}
	_ = s.host.options.Store.CatchUp(ctx) // on failure, without what other nodes have just stored
	marks, err := s.host.options.Store.Positions(ctx, s.id)
	delete(marks, positionWaiting)
	last := s.record.Last()
	for name, n := range marks {
		marks[name] = min(n, last) // later entries were not stored
	}
	return marks, err
}

// announced precedes the node in the name of a position that a reader gets with an answer on its way. Each node has its own, and withdraws no
// other.
const announced = "~"

// announcementOf returns the name of this node's announcement of a position.
func (s *Session) announcementOf(name string, at journal.Position) string {
	node := ""
	if m := s.host.options.Moves; m != nil {
		node = m.Node
	}
	return inEpoch(name, at.Epoch) + announced + node
}

// inEpoch returns the name under which the nodes of a cluster store a reader's position of an epoch. A number means nothing without it:
// entries that a killed node had sent and not shipped are lost, and their numbers are given again.
func inEpoch(name string, epoch uint64) string { return fmt.Sprintf("%s@%d", name, epoch) }

// AnnounceReaderPosition tells all nodes of a cluster which position a reader gets with an answer that is sent now. It returns nil when
// they can know: the next call of the reader may go to any of them. [Session.ConfirmReaderPosition] must follow once the answer is sent, or
// [Session.WithdrawReaderPosition]. If it fails, the answer must not be sent, because another node would send it again.
func (s *Session) AnnounceReaderPosition(ctx context.Context, name string, at journal.Position) error {
	return s.host.options.Store.SharePosition(ctx, s.id, s.announcementOf(name, at), at.N)
}

// ConfirmReaderPosition stores which position a reader has, and returns at once.
func (s *Session) ConfirmReaderPosition(name string, at journal.Position) {
	_ = s.host.options.Store.SetPosition(s.id, inEpoch(name, at.Epoch), at.N) // on failure the older position stays
}

// WithdrawReaderPosition takes back an announcement whose answer was not sent, and returns at once: no call waits for its confirmation.
func (s *Session) WithdrawReaderPosition(name string, at journal.Position) {
	_ = s.host.options.Store.SetPosition(s.id, s.announcementOf(name, at), 0) // on failure calls wait
}

// ForgetReaderPosition removes what is stored of a reader.
func (s *Session) ForgetReaderPosition(ctx context.Context, name string) {
	s.SetReaderPosition(name, 0)
	if !s.MovesBetweenNodes() {
		return
	}
	marks, _ := s.host.options.Store.Positions(ctx, s.id) // on failure they stay
	for mark := range marks {
		if strings.HasPrefix(mark, name+"@") {
			_ = s.host.options.Store.SetPosition(s.id, mark, 0) // likewise
		}
	}
}

// Unconfirmed is a position that another node has announced. A reader that asks for its position again, because waiting took too long, passes
// what it has got before.
type Unconfirmed struct {
	announcement
	since time.Time // when this node saw it first
}

// announcement is a position that a reader gets with an answer. The same position may be announced again.
type announcement struct {
	number   uint64 // 0: there is none
	sequence uint64 // of its message in the log
}

// ReaderPosition returns the stored position of one reader. It waits while the other nodes cannot be reached, because the reader may be
// there. If one of them announced a newer position, it waits until that is confirmed; if it is not, because that node was killed, the
// older position holds. The error is io.EOF if another node has taken the session over: this record continues as a branch.
func (s *Session) ReaderPosition(ctx context.Context, name string, u *Unconfirmed) (uint64, error) {
	if s.host.options.Store == nil {
		return 0, nil
	}
	for s.host.options.Store.CatchUp(ctx) != nil {
		if !pause(ctx, retryCatchUp) {
			return 0, ctx.Err()
		}
	}
	if s.MovesBetweenNodes() {
		s.refreshOwner(ctx, readTime)
	}
	if s.IsEvicted() {
		return 0, io.EOF
	}
	at, err := s.confirmedMark(ctx, name, u)
	if err != nil {
		return 0, err
	}
	if at.isCurrent {
		s.CatchUp(ctx, s.record.Position(at.number))
	}
	if ctx.Err() != nil { // what this node lacks may come at any moment
		return 0, ctx.Err()
	}
	return min(at.number, s.record.Last()), nil // later entries were not stored
}

// IsEvicted reports whether this object no longer represents the session, or is about to be evicted because another process has taken the
// session over.
func (s *Session) IsEvicted() bool {
	lost := false
	if s.tryLockStorage(context.Background(), readTime) { // held while a loss is handled
		lost = s.storage.lease != nil && s.storage.lease.IsLost()
		s.storage.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return lost || s.evicted
}

// confirmedMark returns the position of a reader when none is announced, or after a while.
func (s *Session) confirmedMark(ctx context.Context, name string, u *Unconfirmed) (readerMark, error) {
	for {
		at, next, err := s.newestMark(ctx, name)
		if err != nil {
			return at, err
		}
		if u.announcement != next {
			*u = Unconfirmed{next, time.Now()}
		}
		if next.number == 0 || time.Since(u.since) >= catchUpTime {
			return at, nil
		}
		if !pause(ctx, catchUpEvery) {
			return at, ctx.Err()
		}
	}
}

// readerMark is a stored position of a reader.
type readerMark struct {
	number    uint64
	isCurrent bool // it is of the current epoch
}

// newestMark returns the position of a reader in the newest epoch in which it has one, and a newer one that is not confirmed. In an earlier
// epoch, what came after its end is lost.
func (s *Session) newestMark(ctx context.Context, name string) (at readerMark, next announcement, err error) {
	marks, err := s.host.options.Store.Positions(ctx, s.id)
	if err != nil {
		return at, next, err
	}
	s.mu.Lock()
	epochs := append(slices.Clone(s.epochs.earlier), journal.Position{Epoch: s.epochs.current, N: ^uint64(0)})
	s.mu.Unlock()
	for i, e := range slices.Backward(epochs) {
		confirmed := marks[inEpoch(name, e.Epoch)]
		if next.number == 0 && confirmed < e.N {
			next, err = s.newestAnnouncement(ctx, marks, inEpoch(name, e.Epoch)+announced, confirmed)
		}
		if confirmed > 0 {
			return readerMark{min(confirmed, e.N), i == len(epochs)-1}, next, err
		}
	}
	return readerMark{marks[name], s.MovesBetweenNodes()}, next, err
}

// newestAnnouncement returns the newest position after a number among those of all nodes, whose names begin with prefix.
func (s *Session) newestAnnouncement(ctx context.Context, marks map[string]uint64, prefix string, after uint64) (a announcement, err error) {
	newest := ""
	for mark, number := range marks {
		if strings.HasPrefix(mark, prefix) && number > max(after, a.number) {
			newest, a.number = mark, number
		}
	}
	if newest != "" {
		a.sequence, err = s.host.options.Store.PositionSequence(ctx, s.id, newest)
	}
	return a, err
}

// MovesBetweenNodes reports whether clients of the session may come from, and go to, other nodes of a cluster.
func (s *Session) MovesBetweenNodes() bool { return s.host.options.Remote != nil }

// CatchUp waits, in a cluster, until this node has what another one has sent to a client up to a position, or for a while.
func (s *Session) CatchUp(ctx context.Context, p journal.Position) {
	if !s.MovesBetweenNodes() || s.hasPosition(p) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	_ = s.host.options.Store.CatchUp(ctx)
	for s.refreshOwner(ctx, readTime); !s.hasPosition(p); s.refreshOwner(ctx, readTime) {
		if !pause(ctx, catchUpEvery) {
			return
		}
	}
}

// How long a client waits for a node that lags behind the one before, and how often that is checked.
const (
	catchUpTime  = 10 * time.Second // more than the servers of a cluster need to choose a leader
	catchUpEvery = 5 * time.Millisecond
	retryCatchUp = 100 * time.Millisecond // while the others cannot be reached
)

func (s *Session) hasPosition(p journal.Position) bool {
	_, err := s.record.After(p)
	return err == nil
}
