package journal

import (
	"math/bits"
	"sync/atomic"
)

// lagSteps is the number of lags that a [Meter] tells apart, besides "more".
const lagSteps = 9

// Meter counts what the readers of journals do, of any number of journals at once. It costs a read a few nanoseconds and
// an append nothing. The zero value is ready for use; its methods may be called concurrently, and on nil, which counts
// nothing.
type Meter struct {
	waiting atomic.Int64
	gaps    atomic.Uint64
	sum     atomic.Uint64
	lags    [lagSteps + 1]atomic.Uint64 // the lags up to 1, 4, 16 …, and all others
}

// Readers is what a [Meter] has counted. A reader is a call of [Journal.Next]: a journal does not know who calls.
type Readers struct {
	Waiting int    // those that have read everything and wait for more, now
	Gaps    uint64 // those that were told that entries are gone, ever
	// Lags count the reads that found something, ever, by how many entries the reader was behind the newest when it came.
	// The one at i counts those up to 4^i that the one before does not; the last counts all others.
	Lags [lagSteps + 1]uint64
	Sum  uint64 // of all lags
}

// Readers returns what was counted so far. Counts that change meanwhile need not fit each other exactly.
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

// countLag counts a read that found its reader so many entries behind, one at least.
func (m *Meter) countLag(lag uint64) {
	if m == nil {
		return
	}
	step := (bits.Len64(lag-1) + 1) / 2 // the logarithm to the base 4, rounded up
	m.lags[min(step, lagSteps)].Add(1)
	m.sum.Add(lag)
}

func (m *Meter) gap() {
	if m != nil {
		m.gaps.Add(1)
	}
}

// wait counts a reader that begins to wait, or with -1 one that ends it.
func (m *Meter) wait(n int64) {
	if m != nil {
		m.waiting.Add(n)
	}
}
