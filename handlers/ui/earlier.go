package ui

import (
	"context"
	"errors"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type earlierResult struct {
	Messages []notification `json:"messages"`
	historyResult
	Earlier string `json:"earlier,omitempty"`
}

// notification is a notification inside a response.
type notification struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

// earlier is portal.session.earlier: it returns the messages before a cursor. They are part of the
// response, so no UI takes them for live ones.
func (n *connection) earlier(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p historyParams
	if err := p.read(r); err != nil {
		return nil, err
	}
	s, err := n.host().Session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	past, err := readHistoryBefore(ctx, s.Record(), p.bounds(), p.Before)
	if err != nil {
		return nil, err
	}
	selected := past.latest(p.bounds(), func(m message) bool { return m.method != "" && n.acceptsPast(m) })
	result := earlierResult{[]notification{}, historyResult{Runs: selected.runs, Truncated: selected.truncated}, selected.earlier}
	by := newHTMLRenderer()
	for _, m := range selected.messages {
		if m.method == notifyEvent {
			result.Sent++
		}
		m = n.encodeFor(by, m)
		result.Messages = append(result.Messages, notification{m.method, m.params(s.ID())})
	}
	return result, nil
}

// readHistoryBefore reads what was sent up to a cursor, including the message with that cursor. It
// is empty if the beginning is no longer kept.
func readHistoryBefore(ctx context.Context, record *event.Record, b bounds, before string) (*history, error) {
	c, err := parseCursor(before)
	if err != nil {
		return nil, err
	}
	var gap *journal.GapError
	last, err := record.After(c.Position)
	if err == nil && c.sent > 0 { // some of the next entry was sent
		last, err = nextNumber(ctx, record, last)
	}
	if errors.As(err, &gap) {
		return &history{gap: true}, nil
	}
	if err != nil {
		return nil, unreadable(err)
	}
	past, err := readHistory(ctx, record, b, last)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(past.messages, func(m message) bool { return m.cursor == c }); at >= 0 {
		past.messages = past.messages[:at+1]
	}
	past.messages, past.now, past.isEarlier = withoutAdditive(past.messages), nil, true
	return past, nil
}

// nextNumber returns the number of the entry after a number. A gap is an error.
func nextNumber(ctx context.Context, record *event.Record, after uint64) (uint64, error) {
	b, err := newReader(record, after).Next(ctx)
	if err == nil && b.Gap != nil {
		err = b.Gap
	}
	if err != nil {
		return 0, err
	}
	return b.Entries[0].N, nil
}
