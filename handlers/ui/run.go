package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type startResult struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id"`
}

// start is run.start. It is handled in order and waits only for the store: an unavailable agent
// fails the run, not the request.
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
	prompt.Meta = unknownMembers(r.Params)
	if p.Context != nil {
		n.updateContext(*p.Context)
	}
	s, err := n.session(ctx, p)
	if err != nil {
		return nil, err
	}
	id, err := n.prompt(ctx, r, s, prompt)
	if err != nil {
		return nil, err
	}
	return startResult{id, s.ID()}, nil
}

// resumeTimeout limits the wait for a closed session that is being changed; other requests wait
// meanwhile.
const resumeTimeout = 2 * time.Second

// session finds or starts the session of a run and prepares it for prompts.
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
	if isCurrent && errors.Is(err, fault.ErrSessionNotFound) { // deleted meanwhile: the next attempt starts another
		n.setCurrent("")
	}
	if err != nil {
		return nil, err
	}
	if s.Info().State == copilot.StateClosed {
		ctx, cancel := context.WithTimeout(ctx, resumeTimeout)
		defer cancel()
		err = s.Resume(ctx)
	}
	return s, err
}

// setCurrent makes a session the current one.
func (n *connection) setCurrent(session string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current = session
}

// prompt starts the run of a prompt.
func (n *connection) prompt(ctx context.Context, r *jsonrpc.Request, s *copilot.Session, p event.Prompt) (run string, err error) {
	n.addContext(&p)
	current := ""
	run, err = n.startRun(ctx, r, s, func() (string, error) {
		current = s.Info().Run
		return s.Prompt(p)
	})
	if err != nil {
		return "", err
	}
	n.noteSent(s.ID(), run, p, run == current)
	return run, nil
}

// startRun starts a run whose events follow the response.
func (n *connection) startRun(
	ctx context.Context, r *jsonrpc.Request, s *copilot.Session, begin func() (run string, err error),
) (run string, err error) {
	a, state, err := n.prepareAttachment(ctx, s)
	if err != nil {
		return "", err
	}
	if run, err = begin(); err != nil {
		a.releaseUnused()
		return "", err
	}
	r.After(func() { a.release(state) })
	return run, nil
}

// prepareAttachment returns the attachment to a session with a hold on it, and the state of the
// run if the UI was not attached.
func (n *connection) prepareAttachment(ctx context.Context, s *copilot.Session) (a *attachment, state []message, err error) {
	for {
		if a = n.holdAttachment(s.ID()); a != nil {
			return a, nil, nil
		}
		p, err := readHistory(ctx, s.Record(), bounds{1, 1}, s.Record().Last()) // a run may be in progress
		if err != nil {
			return nil, nil, err
		}
		if a = n.attachSession(ctx, s, p.entryEncoder); a != nil {
			return a, slices.Concat(p.openAtEnd(), p.runState(s.Record())), nil
		}
	}
}

// noteSent records a prompt of this UI, which started a run or joined it.
func (n *connection) noteSent(session, id string, p event.Prompt, joined bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.current, n.context.changed = session, false
	if !joined {
		n.runs[id] = &startedRun{session: session, tools: p.Tools != nil}
		return
	}
	n.steers[id] = append(n.steers[id], p.Text)
}

// startedRun is a run that this UI started.
type startedRun struct {
	session string
	status  string // its terminal status; "" before
	tools   bool   // it has client tools of this UI and has not begun
}

// addContext adds where the user works to a prompt, if that has changed.
func (n *connection) addContext(p *event.Prompt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.context.changed && strings.TrimSpace(p.Text) != "" {
		p.Attachments = append(p.Attachments, n.context.attachments()...)
	}
}

// compact is portal.session.compact. The UI gets the events of the compaction as those of a run of
// its own.
func (n *connection) compact(ctx context.Context, r *jsonrpc.Request) (any, error) {
	id, err := sessionID(r)
	if err != nil {
		return nil, err
	}
	s, err := n.session(ctx, startParams{SessionID: id})
	if err != nil {
		return nil, err
	}
	begun, err := n.startRun(ctx, r, s, s.Compact)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.runs[begun] = &startedRun{session: id}
	return map[string]string{"run_id": begun}, nil
}

type cancelParams struct {
	RunID string `json:"run_id"`
}

type cancelResult struct {
	OK     bool   `json:"ok"`
	Status string `json:"status"`
}

// cancel is run.cancel. It responds at once; the end of the run follows the response as an event.
func (n *connection) cancel(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p cancelParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.RunID == "" {
		return nil, jsonrpc.InvalidParams(`"run_id" is missing`)
	}
	s, status, err := n.runOf(ctx, p.RunID)
	switch {
	case err != nil:
		return nil, err
	case status != "":
		return cancelResult{false, status}, nil
	}
	err = n.whileHeld(r, s.ID(), func() error { return s.Cancel(p.RunID) })
	if errors.Is(err, fault.ErrRunNotFound) || errors.Is(err, fault.ErrSessionClosed) {
		status, err := outcome(ctx, s.Record(), p.RunID)
		return cancelResult{false, status}, err
	}
	if err != nil {
		return nil, err
	}
	return cancelResult{true, statusRunning}, nil
}

// whileHeld runs do in a session whose events must follow the response.
func (n *connection) whileHeld(r *jsonrpc.Request, session string, do func() error) error {
	a := n.holdAttachment(session)
	if a == nil {
		return do()
	}
	err := do()
	if err != nil {
		a.releaseUnused()
		return err
	}
	r.After(a.releaseUnused)
	return nil
}

// runOf finds the session of a run: one that this UI started, a current or waiting one anywhere,
// or the last one of a session. status is its terminal status, if known.
func (n *connection) runOf(ctx context.Context, id string) (s *copilot.Session, status string, err error) {
	session := ""
	n.mu.Lock()
	if known := n.runs[id]; known != nil {
		session, status = known.session, known.status
	}
	n.mu.Unlock()
	if session != "" {
		s, err = n.host().Session(ctx, session)
		return s, status, err
	}
	if s, ok := n.host().SessionByRun(id); ok {
		return s, "", nil
	}
	list, _, err := n.host().Sessions(ctx, "", 0)
	if err != nil {
		return nil, "", err
	}
	i := slices.IndexFunc(list, func(i copilot.Info) bool { return i.Run == id })
	if i < 0 {
		return nil, "", fault.ErrRunNotFound
	}
	s, err = n.host().Session(ctx, list[i].ID)
	return s, "", err
}

// outcome returns the terminal status of a run.
func outcome(ctx context.Context, record *event.Record, run string) (string, error) {
	for b, err := range follow.Snapshot(ctx, record) {
		if err != nil {
			return "", unreadable(err)
		}
		for _, e := range b.Entries {
			if end, ok := e.Value.Body.(event.RunEnded); ok && e.Value.Run == run {
				status, _ := terminal(end)
				return status, nil
			}
		}
	}
	return "", fault.ErrRunNotFound
}
