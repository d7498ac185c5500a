package journal

import (
	"math/bits"
	"sync/atomic"
)

// lagSteps is the number of classes of lags that a [Meter] distinguishes, besides "more".
const lagSteps = 9

// Meter counts the reads of any number of journals. It costs a read a few nanoseconds and an append nothing. The zero
// value is ready to use. Methods may be called concurrently, and on nil, which counts nothing.
type Meter struct {
	waiting atomic.Int64
	gaps    atomic.Uint64
	sum     atomic.Uint64
	lags    [lagSteps + 1]atomic.Uint64 // lags up to 1, 4, 16 …, and all others
}

// Readers holds the counts of a [Meter]. A reader is a call of [Journal.Next], since a journal does not know its
// callers.
type Readers struct {
	Waiting int    // readers that wait for more, now
	Gaps    uint64 // reads that reported a gap, ever
	// Lags counts the reads that returned entries, ever, by the number of entries after the reader's position. Lags[i]
	// counts those up to 4^i that Lags[i-1] does not; the last element counts all others.
	Lags [lagSteps + 1]uint64
	Sum  uint64 // sum of all lags
}

// Readers returns the counts so far. Counts that change concurrently may not match exactly.
func (m *Meter) Readers() Readers {
	if m == nil {
		return Readers{}
	}
	r := Readers{Waiting: int(m.waiting.Load()), Gaps: m.gaps.Load(), Sum: m.sum.Load()}
	for i := range m.lags {
		r.Lags[i] = m.lags[i].Load()
	}
	return r
}

// countLag counts a read whose reader was lag entries behind, at least one.
func (m *Meter) countLag(lag uint64) {
	if m == nil {
		return
	}
	step := (bits.Len64(lag-1) + 1) / 2 // logarithm to base 4, rounded up
	m.lags[min(step, lagSteps)].Add(1)
	m.sum.Add(lag)
}

func (m *Meter) gap() {
	if m != nil {
		m.gaps.Add(1)
	}
}

// wait counts a reader that starts to wait, or with -1 one that stops.
func (m *Meter) wait(n int64) {
	if m != nil {
		m.waiting.Add(n)
	}
}
