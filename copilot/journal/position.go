package journal

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in a record as sent over a wire: a number and the epoch in which it was assigned.
type Position struct {
	Epoch uint64
	N     uint64
}

// String returns the position as "<epoch>-<n>", both in decimal. [ParsePosition] reads it.
func (p Position) String() string {
	return strconv.FormatUint(p.Epoch, 10) + "-" + strconv.FormatUint(p.N, 10)
}

// ParsePosition parses the output of [Position.String] and nothing else.
func ParsePosition(s string) (Position, error) {
	epoch, n, _ := strings.Cut(s, "-")
	var p Position
	var err, errN error
	p.Epoch, err = strconv.ParseUint(epoch, 10, 64)
	p.N, errN = strconv.ParseUint(n, 10, 64)
	if err != nil || errN != nil || p.String() != s {
		return Position{}, fmt.Errorf("journal: %.50q is not a position such as 3-120", s)
	}
	return p, nil
}

// Begin starts an epoch, with the previous ones, as in [Options.Epoch] and [Options.Earlier]. It is for a record that
// another process may have continued since it was restored.
func (j *Journal[T]) Begin(epoch uint64, earlier []Position) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.options.Epoch, j.options.Earlier = epoch, earlier
}

// Epoch returns the current epoch: that of the options, unless another has begun.
func (j *Journal[T]) Epoch() uint64 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.options.Epoch
}

// Position returns the position of a number of this journal, for use on a wire.
func (j *Journal[T]) Position(n uint64) Position { return Position{Epoch: j.Epoch(), N: n} }

// After returns the number to pass to [Journal.Next] for a reader at position p. Its only error is a *[GapError] with
// Stale set, if the entry at the position is not the entry at that number in this record: it was lost at the end of its
// epoch, its epoch is unknown, or it does not exist yet. The number 0 is before the first entry in every epoch.
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

// shared returns the newest number that denotes the same entry in an epoch and now, and whether the epoch is known.
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

// beginning returns the first number of the record, as far as memory knows.
func (j *Journal[T]) beginning() uint64 {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.lost == 0 || j.options.Load != nil {
		return 1
	}
	return j.first()
}
