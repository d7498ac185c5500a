// Package archive stores the record of a session and reads it back: events as entries with their searchable texts, gaps, and which deltas
// a later event supersedes.
package archive

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// maxText is the maximum size of the indexed part of a text, in bytes.
const maxText = 64 << 10

// Append stores an event and its searchable text. A notice takes the place of an event that is too large. Errors: those of
// [store.Lease.Append] except [store.ErrTooLarge].
func Append(lease *store.Lease, e journal.Entry[event.Event]) error {
	err := lease.Append(pack(e))
	if errors.Is(err, store.ErrTooLarge) {
		err = lease.Append(lost(e.N, err))
	}
	if err != nil {
		return err
	}
	if kind, text := searchable(e.Value); text != "" {
		text = text[:min(len(text), maxText)]
		_ = lease.Index(store.Text{Number: e.N, Kind: string(kind), Body: text}) // search is less important than the record
	}
	if _, over := e.Value.Body.(event.RunEnded); over {
		_ = lease.Merge() // the next run will try again
	}
	return nil
}

// searchable returns the searchable text of an event, or "". Of answers, only those of the main agent are searchable.
func searchable(e event.Event) (event.TextKind, string) {
	kind, text := event.Searchable(e.Body)
	if kind == event.TextAnswer && e.Agent != "" {
		return "", ""
	}
	return kind, text
}

// pack encodes an event as a stored entry. A tool's result becomes the payload, which the store deduplicates: models read the
// same files repeatedly.
func pack(e journal.Entry[event.Event]) store.Entry {
	entry := store.Entry{Number: e.N}
	if b, ok := e.Value.Body.(event.ToolEnded); ok && b.Result != nil && len(b.Result.Content) > event.EntryCost {
		entry.Payload = []byte(b.Result.Content)
		b.Result = &event.ToolResult{Detail: b.Result.Detail}
		e.Value.Body = b
	}
	var err error
	if entry.Data, err = event.Encode(e.Value); err != nil {
		return lost(e.N, err)
	}
	return entry
}

// noticeLost is the kind of the [event.Notice] that is stored in place of an event that cannot be stored.
const noticeLost = "portal.not_stored"

// lost returns the entry that takes the place of an event.
func lost(n uint64, cause error) store.Entry {
	raw, _ := json.Marshal(cause.Error()) // strings always encode
	return store.Entry{Number: n, Data: encodeNotice(noticeLost, raw)}
}

// noticeGap is the kind of the [event.Notice] that is stored in place of events that were never stored. It has the number of
// the last of them.
const noticeGap = "portal.hole"

// AppendGap stores that events were never stored. Errors: those of [store.Lease.Append].
func AppendGap(lease *store.Lease, gap *journal.GapError) error {
	raw, _ := json.Marshal(gap) // numbers always encode
	return lease.Append(store.Entry{Number: gap.First - 1, Data: encodeNotice(noticeGap, raw)})
}

func encodeNotice(kind string, raw json.RawMessage) []byte {
	data, _ := event.Encode(event.Event{Time: time.Now(), Body: event.Notice{Kind: kind, Raw: raw}}) // JSON always encodes
	return data
}
