package rpc

import "github.com/copilot-portal/portal/copilot/journal"

// blockKey identifies a text of a run.
type blockKey struct {
	kind blockKind
	id   string
}

type blockKind byte

const (
	blockMessage blockKind = iota
	blockReasoning
	blockOutput // of a tool
)

// textBlock is a text that goes out in pieces.
type textBlock struct {
	sent        int  // bytes sent
	incomplete  bool // pieces after them were not sent
	startUnseen bool // how many were sent is unknown
}

// open starts a block. If its beginning is unknown, a part of it may have been sent before.
func (enc *encoder) open(key blockKey, seen bool) *textBlock {
	b := enc.blocks[key]
	if b == nil {
		b = &textBlock{startUnseen: !seen && enc.unsure}
		enc.blocks[key] = b
	}
	return b
}

// addDelta adds a piece and reports whether to send it. Pieces are not sent if the whole text
// follows, or after missing ones: then the end has the rest.
func (enc *encoder) addDelta(key blockKey, text string, superseded bool, n uint64) bool {
	b := enc.open(key, false)
	if superseded && n <= enc.past {
		b.incomplete = true
	}
	if b.incomplete && superseded && !b.startUnseen {
		return false
	}
	b.startUnseen = b.startUnseen || b.incomplete // what was sent no longer has one end
	b.sent += len(text)
	return true
}

// remainingText ends a block and returns the rest of its text; mayRepeat reports whether the client may
// have its beginning already.
func (enc *encoder) remainingText(key blockKey, whole string) (text string, mayRepeat bool) {
	b := enc.blocks[key]
	delete(enc.blocks, key)
	switch {
	case b == nil && enc.unsure:
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

// checkGap checks whether pieces are missing before an entry: numbers of dropped entries are
// missing.
func (enc *encoder) checkGap(n uint64) {
	if n != enc.last+1 {
		enc.markGap()
	}
	enc.last = n
}

// skip records that entries are missing. After a stale gap, what was sent of an open text may be none of it.
func (enc *encoder) skip(gap *journal.GapError) {
	enc.unsure = true
	if !gap.Stale {
		return
	}
	for _, b := range enc.blocks {
		b.incomplete, b.startUnseen = true, true
	}
}

func (enc *encoder) markGap() {
	for _, b := range enc.blocks {
		b.incomplete = true
	}
}

// encodeGap encodes a gap.
func encodeGap(gap *journal.GapError) message {
	reason := "these events are no longer kept"
	if gap.Stale {
		reason = "the last events before the portal ended were lost"
	}
	return message{event: "gap", data: gapData{gap.After, gap.First, reason}}
}

type gapData struct {
	After  uint64 `json:"after"`
	First  uint64 `json:"first"`
	Reason string `json:"reason"`
}
