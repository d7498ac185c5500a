package ui

import (
	"context"

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

// encode returns the messages of an entry. Only the cursor of the last one covers the whole entry.
func (n *entryEncoder) encode(record *event.Record, e follow.Entry) []message {
	before := cursor{record.Position(n.after), n.runEncoder.begun, 0}
	list := n.runEncoder.encode(e)
	for i := range list {
		before.sent = i + 1
		list[i].cursor = before.String()
		if i == len(list)-1 {
			list[i].cursor = cursor{record.Position(e.N), n.runEncoder.begun, 0}.String()
		}
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

// merged joins adjacent deltas of one text, so a slow UI gets fewer messages.
func merged(list []message) []message {
	out := list[:0]
	for _, m := range list {
		d, ok := m.event.(delta)
		if len(out) > 0 && ok && !m.begins && !out[len(out)-1].begins {
			last := &out[len(out)-1]
			if before, same := last.event.(delta); same && before.ID == d.ID && before.Target == d.Target && last.run == m.run && last.agent == m.agent {
				before.Content += d.Content
				last.event, last.cursor = before, m.cursor
				continue
			}
		}
		out = append(out, m)
	}
	return out
}
