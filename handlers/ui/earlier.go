package ui

import (
	"context"
	"errors"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type earlierParams struct {
	historyParams
	Before string `json:"before"` // the "earlier" of a result
}

type earlierResult struct {
	Messages []notification `json:"messages"`
	historyResult
	Earlier string `json:"earlier,omitempty"`
}

// notification is one that is told of the past, and not sent by itself.
type notification struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

// earlier is portal.session.earlier: what was told before a cursor. It comes with the
// response, so that it cannot be taken for what happens.
func (n *connection) earlier(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p earlierParams
	if err := p.read(r); err != nil {
		return nil, err
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	s, err := n.host().Session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	told, err := readHistoryBefore(ctx, s.Record(), p.bounds(), p.Before)
	if err != nil {
		return nil, err
	}
	t := told.latest(p.bounds(), func(m message) bool { return m.method != "" && n.acceptsPast(m) })
	result := earlierResult{[]notification{}, historyResult{Runs: t.runs, Truncated: t.truncated}, t.earlier}
	by := newHTMLRenderer()
	for _, m := range t.messages {
		if m.method == notifyEvent {
			result.Sent++
		}
		m = n.encodeFor(by, m)
		result.Messages = append(result.Messages, notification{m.method, m.params(s.ID())})
	}
	return result, nil
}

// readHistoryBefore is what was told up to a cursor, the message that has it included.
// Nothing is left of it where the beginning is not kept any more.
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
	told, err := readHistory(ctx, record, b, last)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(told.messages, func(m message) bool { return m.cursor == before }); at >= 0 {
		told.messages = told.messages[:at+1]
	}
	told.messages, told.now, told.isEarlier = withoutAdditive(told.messages), nil, true
	return told, nil
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
