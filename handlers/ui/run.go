package ui

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type startResult struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id"`
}

// start is run.start. It is handled in order and waits for nothing but the store:
// an agent that cannot be had makes a run that fails.
func (n *connection) start(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p startParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	prompt, err := p.prompt()
	if err == nil {
		err = p.Context.check()
	}
	if err != nil {
		return nil, err
	}
	prompt.Meta = besides(r.Params)
	if p.Context != nil {
		n.learn(*p.Context)
	}
	s, err := n.session(ctx, p)
	if err != nil {
		return nil, err
	}
	run, err := n.prompt(ctx, r, s, prompt)
	if err != nil {
		return nil, err
	}
	return startResult{run, s.ID()}, nil
}

// session finds or begins the session of a run, and makes it ready for prompts.
func (n *connection) session(ctx context.Context, p startParams) (*copilot.Session, error) {
	id := p.SessionID
	n.mu.Lock()
	isCurrent := id == ""
	if isCurrent {
		id = n.current
	}
	n.mu.Unlock()
	if id == "" {
		return n.open(ctx, sessionParams{Tools: p.Tools})
	}
	s, err := n.host().Session(ctx, id)
	if isCurrent && errors.Is(err, copilot.ErrSessionNotFound) { // deleted meanwhile: the next attempt begins another
		n.choose("")
	}
	if err != nil {
		return nil, err
	}
	if s.Info().State == copilot.StateClosed {
		err = s.Resume(ctx)
	}
	if err == nil && p.Tools != nil {
		err = n.equip(ctx, s, *p.Tools)
	}
	return s, err
}

// equip lets the agent use the tools of this UI in a session.
func (n *connection) equip(ctx context.Context, s *copilot.Session, list []tool) error {
	if err := s.SetTools(ctx, declared(list)); err != nil {
		return err
	}
	n.api.offer(s.ID(), n)
	return nil
}

// choose makes a session the one that goes on.
func (n *connection) choose(session string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current = session
}

// prompt begins the run of a prompt.
func (n *connection) prompt(ctx context.Context, r *jsonrpc.Request, s *copilot.Session, p copilot.Prompt) (run string, err error) {
	n.surround(&p)
	if run, err = n.launch(ctx, r, s, func() (string, error) { return s.Prompt(p) }); err != nil {
		return "", err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current, n.context.news = s.ID(), false
	return run, nil
}

// launch begins a run and lets its events come behind the response.
func (n *connection) launch(
	ctx context.Context, r *jsonrpc.Request, s *copilot.Session, begin func() (run string, err error),
) (run string, err error) {
	st, follow, err := n.prepare(ctx, s)
	if err != nil {
		return "", err
	}
	if run, err = begin(); err != nil {
		st.gate.release()
		if follow != nil {
			n.left(st)
		}
		return "", err
	}
	n.mu.Lock()
	n.runs[run] = s.ID()
	n.mu.Unlock()
	r.After(func() {
		st.gate.release()
		if follow != nil {
			n.work.Go(follow)
		}
	})
	return run, nil
}

// prepare gives the stream of a session, whose gate it holds; follow is nil if it
// runs already.
func (n *connection) prepare(ctx context.Context, s *copilot.Session) (st *stream, follow func(), err error) {
	for {
		if st = n.held(s.ID()); st != nil {
			return st, nil, nil
		}
		from := narrator{teller: newTeller(), after: s.Record().Last()}
		if s.Info().State != copilot.StateIdle {
			p, err := recount(ctx, s.Record(), bounds{1, 1}) // what it is in the middle of
			if err != nil {
				return nil, nil, err
			}
			from = p.narrator
		}
		streaming, st := n.newStream(ctx, s, from)
		st.gate.hold()
		if n.join(st) {
			return st, func() { n.follow(streaming, st) }, nil
		}
	}
}

// surround adds to a prompt where the user works, if that is news.
func (n *connection) surround(p *copilot.Prompt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.context.news {
		p.Attachments = append(p.Attachments, n.context.attachments()...)
	}
}

type cancelParams struct {
	RunID string `json:"run_id"`
}

type cancelResult struct {
	OK     bool   `json:"ok"`
	Status string `json:"status"`
}

// cancel is run.cancel. It answers at once: the end of the run is an event.
func (n *connection) cancel(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p cancelParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.RunID == "" {
		return nil, jsonrpc.InvalidParams(`"run_id" is missing`)
	}
	s, err := n.sessionOf(ctx, p.RunID)
	if err != nil {
		return nil, err
	}
	err = s.Cancel(p.RunID)
	if errors.Is(err, copilot.ErrRunNotFound) || errors.Is(err, copilot.ErrSessionClosed) {
		status, err := outcome(ctx, s.Record(), p.RunID)
		return cancelResult{false, status}, err
	}
	if err != nil {
		return nil, err
	}
	return cancelResult{true, statusRunning}, nil
}

// sessionOf finds the session of a run: one that was begun here, or the current
// or last one of any session.
func (n *connection) sessionOf(ctx context.Context, run string) (*copilot.Session, error) {
	n.mu.Lock()
	id := n.runs[run]
	n.mu.Unlock()
	if id == "" {
		list, _, err := n.host().Sessions(ctx, "", 0)
		if err != nil {
			return nil, err
		}
		for _, i := range list {
			if i.Run == run {
				id = i.ID
			}
		}
	}
	if id == "" {
		return nil, copilot.ErrRunNotFound
	}
	return n.host().Session(ctx, id)
}

// outcome is the status that a run has ended with. One that left no trace was
// cancelled before it began.
func outcome(ctx context.Context, record *copilot.Record, run string) (string, error) {
	p, err := recount(ctx, record, bounds{defaultRuns, defaultEvents})
	if err != nil {
		return "", err
	}
	for _, m := range p.messages {
		if m.run == run && m.method == notifyStatus && m.status != statusRunning && m.status != statusAwaiting {
			return m.status, nil
		}
	}
	return "", copilot.ErrRunNotFound
}
