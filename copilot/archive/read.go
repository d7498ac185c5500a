package archive

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// Read reads entries of a session after a number. Events that were never stored, or are damaged, result in a [journal.GapError]. Other errors
// have the kind [fault.Unavailable].
func Read(ctx context.Context, from *store.Store, session string, after uint64, limit int) ([]journal.Entry[event.Event], error) {
	entries, _, err := read(ctx, from, session, after, limit, func([]byte) bool { return false })
	return entries, err
}

// read is Read without the entries that skip accepts. It also returns the number of the last entry read.
func read(ctx context.Context, from *store.Store, session string, after uint64, limit int, skip func(data []byte) bool) (entries []journal.Entry[event.Event], last uint64, err error) {
	raw, err := from.Read(ctx, session, after, limit)
	if err != nil {
		return nil, after, unreadable(err)
	}
	last = after
	for _, r := range raw {
		if !skip(r.Data) {
			e, err := unpack(r)
			switch {
			case err != nil && last > after:
				return entries, last, nil // the next read reports it
			case err != nil:
				return nil, after, unreadable(err)
			}
			entries = append(entries, e)
		}
		last = r.Number
	}
	return entries, last, nil
}

// unpack decodes a stored entry. A gap is a [journal.GapError], and so is an entry that cannot be decoded: those after it can be read.
func unpack(entry store.Entry) (journal.Entry[event.Event], error) {
	e := journal.Entry[event.Event]{N: entry.Number}
	var err error
	if e.Value, err = event.Decode(entry.Data); err != nil {
		return e, &journal.GapError{First: entry.Number + 1}
	}
	switch b := e.Value.Body.(type) {
	case event.ToolEnded:
		if entry.Payload != nil && b.Result != nil {
			b.Result.Content = string(entry.Payload)
		}
	case event.Notice:
		if b.Kind == noticeGap {
			var gap journal.GapError
			_ = json.Unmarshal(b.Raw, &gap)
			gap.First = entry.Number + 1
			return e, &gap
		}
	}
	return e, nil
}

// unreadable returns the error for a stored record that cannot be read. A gap stays a gap, and damage is one.
func unreadable(err error) error {
	var gap *journal.GapError
	if errors.As(err, &gap) {
		return err
	}
	var damaged *store.DamagedError
	if errors.As(err, &damaged) {
		return &journal.GapError{First: damaged.Last + 1}
	}
	return fault.Errorf(fault.Unavailable, "the stored record could not be read: %w", err)
}
