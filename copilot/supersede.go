package copilot

import (
	"bytes"
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot/journal"
)

// ahead is how many entries are looked through at first for the end of a text:
// most texts end soon.
const ahead = 64

// supersede flags the pieces whose whole stands behind the entries.
func (h *Host) supersede(ctx context.Context, id string, entries []journal.Entry[Event]) error {
	open := unended(entries)
	if len(open) == 0 {
		return nil
	}
	after := entries[len(entries)-1].N
	for limit := ahead; len(open) > 0; limit = min(2*limit, maxPage) {
		more, last, err := h.wholes(ctx, id, after, limit)
		var gap *journal.GapError
		if errors.As(err, &gap) || err == nil && last == after {
			return nil // they have no end
		}
		if err != nil {
			return err
		}
		for _, e := range more {
			if key, end := group(e.Value); end {
				for _, i := range open[key] {
					entries[i].Superseded = true
				}
				delete(open, key)
			}
			if _, over := e.Value.Body.(RunEnded); over {
				return nil
			}
		}
		after = last
	}
	return nil
}

// wholes reads events from the store, but for pieces, and tells which entry was
// the last that it looked at.
func (h *Host) wholes(ctx context.Context, id string, after uint64, limit int) (entries []journal.Entry[Event], last uint64, err error) {
	raw, err := h.options.Store.Read(ctx, id, after, limit)
	if err != nil {
		return nil, after, err
	}
	last = after
	for _, r := range raw {
		if !isPiece(r.Data) {
			e, err := unpack(r)
			switch {
			case err != nil && last > after:
				return entries, last, nil // the next read meets it
			case err != nil:
				return nil, after, err
			}
			entries = append(entries, e)
		}
		last = r.Number
	}
	return entries, last, nil
}

// isPiece says whether an encoded event is a piece of a text, at the price of a
// look at its beginning: decoding all of them would be most of the work. One that
// it does not know is taken for none.
func isPiece(line []byte) bool {
	tag, ok := bytes.CutPrefix(line, []byte(`{"v":1,"type":"`))
	if !ok {
		return false
	}
	tag, _, _ = bytes.Cut(tag, []byte{'"'})
	switch string(tag) {
	case "message.delta", "reasoning.delta", "tool.output":
		return true
	}
	return false
}

// unended are the places of pieces whose whole is not among the entries.
func unended(entries []journal.Entry[Event]) map[string][]int {
	open := map[string][]int{}
	for i, e := range entries {
		key, end := group(e.Value)
		switch _, over := e.Value.Body.(RunEnded); {
		case end:
			delete(open, key)
		case over:
			clear(open)
		case key != "":
			open[key] = append(open[key], i)
		}
	}
	return open
}
