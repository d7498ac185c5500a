package journal

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in a record as it is told over a wire: a number, and the epoch in which it was given.
type Position struct {
	Epoch uint64
	N     uint64
}

// String returns the position as "<epoch>-<n>", both in decimal. [ParsePosition] reads it.
func (p Position) String() string {
	return strconv.FormatUint(p.Epoch, 10) + "-" + strconv.FormatUint(p.N, 10)
}

// ParsePosition reads what [Position.String] has written, and nothing else.
func ParsePosition(s string) (Position, error) {
	epoch, n, _ := strings.Cut(s, "-")
	var p Position
	var err, errN error
	p.Epoch, err = strconv.ParseUint(epoch, 10, 64)
	p.N, errN = strconv.ParseUint(n, 10, 64)
	if err != nil || errN != nil || p.String() != s {
		return Position{}, fmt.Errorf("journal: %.50q is no position, which looks like 3-120", s)
	}
	return p, nil
}

// Begin makes an epoch the present one, with those before it, as [Options.Epoch] and [Options.Earlier] have them. It is
// meant for a record that somebody else may have continued since it was restored.
func (j *Journal[T]) Begin(epoch uint64, earlier []Position) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.options.Epoch, j.options.Earlier = epoch, earlier
}

// Epoch returns the present epoch: the one that the journal was made with, unless another has begun.
func (j *Journal[T]) Epoch() uint64 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.options.Epoch
}

// Position returns the place of a number of this journal, to be told over a wire.
func (j *Journal[T]) Position(n uint64) Position { return Position{Epoch: j.Epoch(), N: n} }

// After returns the number after which a reader who was told a position has to go on with [Journal.Next]. Its only error is
// a *[GapError] with Stale set, if what stood at the position is not what stands there in this record: because it was lost
// at the end of its epoch, or its epoch is not known, or nobody can have been told it yet. The number 0 is before the first
// entry in every epoch.
func (j *Journal[T]) After(p Position) (uint64, error) {
	shared, known := j.shared(p.Epoch)
	switch {
	case p.N == 0 || known && p.N <= shared:
		return p.N, nil
	case known:
		return 0, j.stale(p.N, shared+1)
	}
	return 0, j.stale(p.N, j.beginning())
}

func (j *Journal[T]) stale(after, first uint64) error {
	j.options.Meter.gap()
	return &GapError{After: after, First: first, Stale: true}
}

// shared returns the newest number that meant in an epoch what it means now, and whether the epoch is known.
func (j *Journal[T]) shared(epoch uint64) (uint64, bool) {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if epoch == j.options.Epoch {
		return j.last, true
	}
	for _, end := range j.options.Earlier {
		if end.Epoch == epoch {
			return end.N, true
		}
	}
	return 0, false
}

// beginning returns the number that the record begins with, for all that memory knows.
func (j *Journal[T]) beginning() uint64 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.lost == 0 || j.options.Load != nil {
		return 1
	}
	return j.first()
}
