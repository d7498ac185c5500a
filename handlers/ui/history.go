package ui

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

type historyParams struct {
	SessionID string `json:"session_id"`
	MaxRuns   int    `json:"max_runs"`
	MaxEvents int    `json:"max_events"`
	After     string `json:"after"`  // of portal.session.attach
	Before    string `json:"before"` // of portal.session.earlier: the "earlier" of a result
}

type historyResult struct {
	Runs      int  `json:"runs"`
	Sent      int  `json:"events_sent"`
	Truncated bool `json:"truncated,omitempty"`
}

type attachResult struct {
	Session sessionState `json:"session"`
	historyResult
	Earlier string `json:"earlier,omitempty"` // where portal.session.earlier continues
	Reset   bool   `json:"reset,omitempty"`   // the cursor is no longer valid: this is the whole history
}

// sessionState is a session as the response to portal.session.attach has it.
type sessionState struct {
	Session
	Permissions permission.Policy `json:"permissions"`          // the rules in force
	Remembered  permission.Policy `json:"remembered,omitempty"` // those of them that come from answers
	Waiting     []waiting         `json:"waiting"`

	Can []agent.Capability `json:"can"` // what its agent can do
}

func (p *historyParams) read(r *jsonrpc.Request) error {
	p.MaxRuns, p.MaxEvents = defaultRuns, defaultEvents
	if err := r.Decode(p); err != nil {
		return err
	}
	switch {
	case p.SessionID == "":
		return jsonrpc.InvalidParams(`"session_id" is missing`)
	case p.MaxRuns < 0 || p.MaxEvents < 0:
		return jsonrpc.InvalidParams(`"max_runs" and "max_events" must not be negative`)
	}
	return nil
}

// The limits of one history.
const (
	maxRuns   = 1000
	maxEvents = 20_000
)

func (p *historyParams) bounds() bounds {
	return bounds{min(p.MaxRuns, maxRuns), min(p.MaxEvents, maxEvents)}
}

// history is session.history: the past, the response, and then live messages.
func (n *connection) history(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p historyParams
	if err := p.read(r); err != nil {
		return nil, err
	}
	s, err := n.host().Session(ctx, p.SessionID)
	if errors.Is(err, fault.ErrSessionNotFound) {
		return historyResult{}, nil // as the notes of the contract demand
	}
	if err != nil {
		return nil, err
	}
	show := historyRequest{connection: n, bounds: p.bounds(), wants: func(m message) bool { return m.method == notifyEvent }}
	err = show.send(ctx, r, s)
	return show.result, err
}

// attach is portal.session.attach.
func (n *connection) attach(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p historyParams
	if err := p.read(r); err != nil {
		return nil, err
	}
	s, err := n.host().Session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	show := historyRequest{connection: n, bounds: p.bounds(), wants: func(m message) bool { return m.method != "" }}
	reset := false
	if p.After != "" {
		if show.from, show.known, reset, err = resumeFrom(ctx, s, p.After); err != nil {
			return nil, err
		}
	}
	if err := show.send(ctx, r, s); err != nil {
		return nil, err
	}
	return attachResult{sessionState{DescribeSession(s.Info()), s.Rules(), s.Remembered(), queued(s.Waiting()), append([]agent.Capability{}, s.Capabilities()...)}, show.result, show.earlier, reset}, nil
}

// historyRequest is a request for the past of a session.
type historyRequest struct {
	*connection
	bounds

	wants   func(message) bool
	from    *entryEncoder // where the UI continues; nil: it has nothing
	known   []message     // what the UI has of the run at that point
	result  historyResult
	earlier string // see [attachResult]
}

// send sends the past of a session, unless the UI has it, and lets the record continue
// after the response, beginning with the state of the run.
func (s *historyRequest) send(ctx context.Context, r *jsonrpc.Request, of *copilot.Session) error {
	a, past, isNew, err := s.attach(ctx, of)
	if err != nil {
		return err
	}
	var state []message
	err = a.do(ctx, func(ctx context.Context) (err error) {
		state, err = s.sendHistory(ctx, a, past, isNew)
		return err
	})
	if err != nil {
		a.releaseUnused()
		return err
	}
	r.After(func() { a.release(state) })
	return nil
}

// sendHistory sends the past and returns the state of the run after it. It runs on the
// goroutine of the attachment.
func (s *historyRequest) sendHistory(ctx context.Context, a *attachment, past *history, isNew bool) (state []message, err error) {
	record := a.reader.Session().Record()
	switch {
	case s.from != nil:
		err = s.resume(ctx, a, isNew)
	case past == nil: // attached before: the past ends where the attachment is
		if past, err = readHistory(ctx, record, s.bounds, a.encoder.after); err == nil {
			err = s.sendMessages(ctx, a, past)
		}
	default:
		err = s.sendMessages(ctx, a, past)
	}
	return a.encoder.runState(record), err
}

// resume continues after a cursor. What this connection has already received, such as a run that
// it started meanwhile, is sent again from the cursor on.
func (s *historyRequest) resume(ctx context.Context, a *attachment, isNew bool) error {
	a.html = newHTMLRenderer()
	if s.capabilities().HTML {
		a.html.restore(s.known)
	}
	if err := s.sendPast(ctx, a, silentTextStarts(s.known)); err != nil {
		return err
	}
	record := a.reader.Session().Record()
	if isNew {
		a.missedUpTo = record.Last()
		return nil
	}
	reader := newReader(record, s.from.after)
	for b, err := range reader.Until(ctx, a.encoder.after) {
		if b.Gap != nil {
			err = b.Gap
		}
		if err != nil {
			return unreadable(err)
		}
		var list []message
		for _, e := range b.Entries {
			list = append(list, s.from.encode(record, e)...)
		}
		s.from.after = reader.After()
		if err := s.sendPast(ctx, a, merged(withTextStarts(list, s.from.after < a.encoder.after))); err != nil {
			return err
		}
	}
	return nil
}

// attach returns the attachment with a hold on it, and the past of a new one.
func (s *historyRequest) attach(ctx context.Context, of *copilot.Session) (a *attachment, past *history, isNew bool, err error) {
	for {
		if a = s.holdAttachment(of.ID()); a != nil {
			return a, nil, false, nil
		}
		from := s.from
		if from == nil {
			if past, err = readHistory(ctx, of.Record(), s.bounds, of.Record().Last()); err != nil {
				return nil, nil, false, err
			}
			from = &past.entryEncoder
		}
		if a = s.attachSession(ctx, of, *from); a != nil {
			return a, past, true, nil
		}
	}
}

// resumeFrom returns the encoder at a cursor and what the UI has there. reset is true if the
// cursor is no longer valid.
func resumeFrom(ctx context.Context, s *copilot.Session, after string) (from *entryEncoder, known []message, reset bool, err error) {
	c, err := parseCursor(after)
	if err != nil {
		return nil, nil, false, err
	}
	var gap *journal.GapError
	var found entryEncoder
	s.CatchUp(ctx, c.newest())
	if _, err = s.Record().After(c.newest()); err == nil {
		found, known, err = restoreEncoder(ctx, s.Record(), c)
	}
	switch {
	case errors.As(err, &gap):
		return nil, nil, true, nil
	case err != nil:
		return nil, nil, false, unreadable(err)
	}
	return &found, known, false, nil
}

// sendMessages sends the past, including the prompts of this UI.
func (s *historyRequest) sendMessages(ctx context.Context, a *attachment, past *history) error {
	a.html = newHTMLRenderer() // incomplete texts are sent from their beginning
	selected := past.latest(s.bounds, func(m message) bool { return s.wants(m) && s.acceptsPast(m) })
	s.result.Runs, s.result.Truncated, s.earlier = selected.runs, selected.truncated, selected.earlier
	return s.sendPast(ctx, a, selected.messages)
}

// sendPast sends notifications. Questions of the past are not asked.
func (s *historyRequest) sendPast(ctx context.Context, a *attachment, list []message) error {
	for _, m := range list {
		if !s.wants(m) || !s.acceptsPast(m) {
			continue
		}
		if m.method == notifyEvent {
			s.result.Sent++
		}
		if err := a.add(ctx, m); err != nil {
			return err
		}
	}
	return a.flush(ctx)
}

// runState returns the state of the current run, its start, and its open questions.
func (n entryEncoder) runState(record *event.Record) []message {
	enc := n.runEncoder
	if enc.status == "" {
		return nil
	}
	at := cursor{record.Position(n.after), enc.begun, n.sent}
	list := []message{{method: notifyStatus, run: enc.run, status: enc.status, time: enc.since, cursor: at}}
	for _, q := range enc.open {
		list = append(list, message{run: enc.run, asked: &q})
	}
	return list
}

// detach is portal.session.detach. It withdraws the questions of the session from this UI.
func (n *connection) detach(ctx context.Context, r *jsonrpc.Request) (any, error) {
	id, err := sessionID(r)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"detached": n.detachSession(ctx, id)}, nil
}
