package rpc

import "github.com/copilot-portal/portal/copilot/journal"

// textBlock is a text that goes out piece by piece.
type textBlock struct {
	sent        int  // bytes that were told
	incomplete  bool // pieces behind them were not
	startUnseen bool // how many were told is not known
}

// open begins a block. One whose beginning was not seen may have been told in
// part to the client before.
func (t *encoder) open(key string, seen bool) *textBlock {
	b := t.blocks[key]
	if b == nil {
		b = &textBlock{startUnseen: !seen && t.unsure}
		t.blocks[key] = b
	}
	return b
}

// addDelta notes a piece, and says whether it is to be told. One of the past is not
// where the whole text stands for it, nor is one behind a hole: the end has the
// rest then.
func (t *encoder) addDelta(key, text string, superseded bool, n uint64) bool {
	b := t.open(key, false)
	if superseded && n <= t.past {
		b.incomplete = true
	}
	if b.incomplete && superseded && !b.startUnseen {
		return false
	}
	b.startUnseen = b.startUnseen || b.incomplete // what was told has no longer one end
	b.sent += len(text)
	return true
}

// remainingText ends a block, and gives what of its text was not told; torn says that the
// beginning of that may have been.
func (t *encoder) remainingText(key, whole string) (text string, torn bool) {
	b := t.blocks[key]
	delete(t.blocks, key)
	switch {
	case b == nil && t.unsure:
		return whole, whole != ""
	case b == nil, b.sent == 0 && !b.startUnseen:
		return whole, false
	case !b.incomplete:
		return "", false
	case b.startUnseen:
		return whole, true
	}
	return whole[min(b.sent, len(whole)):], false
}

// checkGap looks whether pieces are missing before an entry: the numbers of those
// that were dropped are not given again.
func (t *encoder) checkGap(n uint64) {
	if n != t.last+1 {
		t.markGap()
	}
	t.last = n
}

func (t *encoder) markGap() {
	for _, b := range t.blocks {
		b.incomplete = true
	}
}

// encodeGap tells of events that the client misses.
func encodeGap(gap *journal.GapError) message {
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
