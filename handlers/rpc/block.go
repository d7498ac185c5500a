package rpc

import "github.com/copilot-portal/portal/copilot/journal"

// block is a text that goes out piece by piece.
type block struct {
	sent    int  // bytes that were told
	hole    bool // pieces behind them were not
	unknown bool // how many were told is not known
}

// open begins a block. One whose beginning was not seen may have been told in
// part to the client before.
func (t *teller) open(key string, seen bool) *block {
	b := t.blocks[key]
	if b == nil {
		b = &block{unknown: !seen && t.unsure}
		t.blocks[key] = b
	}
	return b
}

// piece notes a piece, and says whether it is to be told. One of the past is not
// where the whole text stands for it, nor is one behind a hole: the end has the
// rest then.
func (t *teller) piece(key, text string, superseded bool, n uint64) bool {
	b := t.open(key, false)
	if superseded && n <= t.past {
		b.hole = true
	}
	if b.hole && superseded && !b.unknown {
		return false
	}
	b.unknown = b.unknown || b.hole // what was told has no longer one end
	b.sent += len(text)
	return true
}

// rest ends a block, and gives what of its text was not told; torn says that the
// beginning of that may have been.
func (t *teller) rest(key, whole string) (text string, torn bool) {
	b := t.blocks[key]
	delete(t.blocks, key)
	switch {
	case b == nil && t.unsure:
		return whole, whole != ""
	case b == nil, b.sent == 0 && !b.unknown:
		return whole, false
	case !b.hole:
		return "", false
	case b.unknown:
		return whole, true
	}
	return whole[min(b.sent, len(whole)):], false
}

// step looks whether pieces are missing before an entry: the numbers of those
// that were dropped are not given again.
func (t *teller) step(n uint64) {
	if n != t.last+1 {
		t.miss()
	}
	t.last = n
}

func (t *teller) miss() {
	for _, b := range t.blocks {
		b.hole = true
	}
}

// hole tells of events that the client misses.
func hole(gap *journal.GapError) message {
	reason := "these events are no longer kept"
	if gap.Stale {
		reason = "the last events before the portal ended were lost"
	}
	return message{"gap", gapData{gap.After, gap.First, reason}}
}

type gapData struct {
	After  uint64 `json:"after"`
	First  uint64 `json:"first"`
	Reason string `json:"reason"`
}
