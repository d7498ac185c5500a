package ui

import (
	"context"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
)

// entryEncoder encodes a record entry by entry and gives each message a cursor. It is used by one
// goroutine.
type entryEncoder struct {
	runEncoder *runEncoder
	after      uint64 // everything up to here is sent
	sent       int    // how many messages of the next entry are sent
}

// encode returns the messages of an entry, which are valid until the next call. Only the cursor of the last one covers the
// whole entry.
func (n *entryEncoder) encode(record *event.Record, e follow.Entry) []message {
	before := cursor{record.Position(n.after), n.runEncoder.begun, 0}
	list := n.runEncoder.encode(e)
	for i := range list {
		before.sent = i + 1
		list[i].cursor = before
	}
	if len(list) > 0 {
		list[len(list)-1].cursor = cursor{record.Position(e.N), n.runEncoder.begun, 0}
	}
	list = list[min(n.sent, len(list)):]
	n.after, n.sent = e.N, 0
	return list
}

// restoreEncoder returns an encoder for a UI that has everything up to a cursor, and what the UI
// has of the run.
func restoreEncoder(ctx context.Context, record *event.Record, c cursor) (n entryEncoder, known []message, err error) {
	n = entryEncoder{runEncoder: newRunEncoder(), after: c.N, sent: c.sent}
	if c.begun == 0 {
		return n, nil, nil
	}
	for b, err := range newReader(record, c.begun-1).Until(ctx, c.N) {
		if b.Gap != nil {
			err = b.Gap
		}
		if err != nil {
			return n, nil, err
		}
		for _, e := range b.Entries {
			known = append(known, n.runEncoder.encode(e)...)
		}
	}
	n.after = c.N
	for _, m := range openMessages(known) {
		n.runEncoder.deltas[m.block] = true // they may have been sent, and dropped since
	}
	return n, known, nil
}

// merged joins adjacent deltas of one text, so a slow UI gets fewer messages. It reuses the list.
func merged(list []message) []message {
	out := list[:0]
	for i := 0; i < len(list); {
		m, end := list[i], i+1
		for end < len(list) && continues(list[end-1], list[end]) {
			end++
		}
		if end > i+1 {
			m.event, m.cursor = joined(list[i:end]), list[end-1].cursor
		}
		out = append(out, m)
		i = end
	}
	return out
}

// continues reports whether a message is the next delta of the same text.
func continues(before, m message) bool {
	a, ok := before.event.(delta)
	b, also := m.event.(delta)
	return ok && also && !before.begins && !m.begins && a.ID == b.ID && a.Target == b.Target && before.run == m.run && before.agent == m.agent
}

// joined joins the deltas of messages.
func joined(list []message) delta {
	var text strings.Builder
	for _, m := range list {
		text.WriteString(m.event.(delta).Content) //nolint:forcetypeassert,errcheck // see continues
	}
	d := list[0].event.(delta) //nolint:forcetypeassert,errcheck // likewise
	d.Content = text.String()
	return d
}
