package ui

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type historyParams struct {
	SessionID string `json:"session_id"`
	MaxRuns   int    `json:"max_runs"`
	MaxEvents int    `json:"max_events"`
	After     string `json:"after"` // of portal.session.attach
}

type historyResult struct {
	Runs      int  `json:"runs"`
	Sent      int  `json:"events_sent"`
	Truncated bool `json:"truncated,omitempty"`
}

type attachResult struct {
	Session listed `json:"session"`
	historyResult
	Reset bool `json:"reset,omitempty"` // the cursor is of no use any more: this is everything again
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
		return jsonrpc.InvalidParams(`"max_runs" and "max_events" are counts`)
	}
	return nil
}

// history is session.history: the past, then the response, then what happens.
func (n *connection) history(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p historyParams
	if err := p.read(r); err != nil {
		return nil, err
	}
	p.After = ""
	s, err := n.host().Session(ctx, p.SessionID)
	if errors.Is(err, copilot.ErrSessionNotFound) {
		return historyResult{}, nil // notes
	}
	if err != nil {
		return nil, err
	}
	result, _, err := n.show(ctx, r, s, p, func(m message) bool { return m.method == notifyEvent })
	return result, err
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
	result, reset, err := n.show(ctx, r, s, p, func(m message) bool { return m.method != "" })
	if err != nil {
		return nil, err
	}
	return attachResult{describe(s.Info()), result, reset}, nil
}

// show tells the past of a session, and lets what happens come behind the
// response, beginning with how it stands.
func (n *connection) show(
	ctx context.Context, r *jsonrpc.Request, s *copilot.Session, p historyParams, wants func(message) bool,
) (result historyResult, reset bool, err error) {
	for ctx.Err() == nil {
		n.leave(ctx, s.ID()) // what it would tell now comes again
		from, reset, err := n.resume(ctx, s, p.After)
		if err != nil {
			return result, false, err
		}
		if from == nil {
			told, err := recount(ctx, s.Record(), bounds{p.MaxRuns, p.MaxEvents})
			if err != nil {
				return result, false, err
			}
			if result, err = n.recite(ctx, s.ID(), told, p, wants); err != nil {
				return result, false, err
			}
			from = &told.narrator
		}
		if n.goOn(ctx, r, s, *from) {
			return result, reset, nil
		}
	}
	return result, false, ctx.Err()
}

// goOn lets what happens come behind the response; false if there is another
// stream of the session, as of a run that was begun meanwhile.
func (n *connection) goOn(ctx context.Context, r *jsonrpc.Request, s *copilot.Session, from narrator) bool {
	standing := from.standing(s.Record())
	streaming, st := n.newStream(ctx, s, from)
	if !n.join(st) {
		return false
	}
	r.After(func() {
		n.work.Go(func() {
			_ = n.send(streaming, st.session, standing) // what fails here fails again
			n.follow(streaming, st)
		})
	})
	return true
}

// resume finds the place of a cursor; nil if there is none, or (reset) if it is of
// no use any more.
func (n *connection) resume(ctx context.Context, s *copilot.Session, after string) (from *narrator, reset bool, err error) {
	if after == "" {
		return nil, false, nil
	}
	c, err := parseCursor(after)
	if err != nil {
		return nil, false, err
	}
	var gap *journal.GapError
	if c.N, err = s.Record().After(c.Position); err == nil {
		var found narrator
		if found, err = recall(ctx, s.Record(), c); err == nil {
			return &found, false, nil
		}
	}
	if errors.As(err, &gap) {
		return nil, true, nil
	}
	return nil, false, unreadable(err)
}

// recite sends the past. Prompts are part of it, also those of this UI.
func (n *connection) recite(
	ctx context.Context, session string, told *past, p historyParams, wants func(message) bool,
) (result historyResult, err error) {
	list, runs, truncated := told.latest(bounds{p.MaxRuns, p.MaxEvents}, func(m message) bool {
		return wants(m) && (m.to == forOthers || n.takes(m))
	})
	result.Runs, result.Truncated = runs, truncated
	for _, m := range merged(list) {
		if m.method == notifyEvent {
			result.Sent++
		}
		if err := n.peer.Notify(ctx, m.method, m.params(session)); err != nil {
			return result, err
		}
	}
	return result, nil
}

// standing is how a run stands that goes on, and what it waits for.
func (n narrator) standing(record *copilot.Record) []message {
	t := n.teller
	if t.status == "" {
		return nil
	}
	at := cursor{record.Position(n.after), t.begun, n.told}.String()
	list := []message{{method: notifyStatus, run: t.run, status: t.status, cursor: at}}
	for _, q := range t.open {
		list = append(list, message{run: t.run, asked: &q})
	}
	return list
}

// detach is portal.session.detach. Questions of the session are withdrawn from
// this UI.
func (n *connection) detach(ctx context.Context, r *jsonrpc.Request) (any, error) {
	id, err := sessionID(r)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"detached": n.leave(ctx, id)}, nil
}
