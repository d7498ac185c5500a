package copilot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
)

// Cut says where a fork ends. The zero value is the end of the session; at most one field may be set.
type Cut struct {
	After  string // the last run that the fork has
	Before string // the first run that the fork does not have
}

// ForkOrigin is the session that a fork was made from. Its JSON is stored.
type ForkOrigin struct {
	ID    string `json:"id"`             // "" for a session that is no fork
	Title string `json:"title,omitzero"` // at that time
}

// Fork copies a session, with its record and conversation up to a cut, and activates the copy, which gets a title of its own. The
// original does not change. Errors: those of [Host.Start], kind [fault.Invalid] if its agent cannot copy the conversation, kind [fault.Busy] during a run, [fault.ErrRunNotFound] for a cut at an
// unknown run.
func (h *Host) Fork(ctx context.Context, id string, cut Cut) (*Session, error) {
	if cut.After != "" && cut.Before != "" {
		return nil, fault.Errorf(fault.Invalid, "a fork ends after a run or before one: give one of the two")
	}
	from, err := h.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	fork, err := h.commands.fork.run(ctx, from, cut)
	if err != nil {
		return nil, err
	}
	return h.awaitSession(ctx, fork)
}

func (s *Session) forkHere(ctx context.Context, cut Cut) (id string, err error) {
	if err := s.checkNoRun(errForkBusy); err != nil {
		return "", err
	}
	end, err := s.findCut(ctx, cut)
	if err != nil {
		return "", err
	}
	fork, err := s.host.forkAt(ctx, s, end, "")
	if err != nil {
		return "", err
	}
	return fork.id, nil
}

// Resend is how a prompt is sent again.
type Resend struct {
	Text  string // replaces the text of the prompt; "": as it was
	Model string // id or display name; "": that of the session
	By    string // dialect of the client
}

// Resend sends the prompt of a run again, with its attachments, in a fork that ends before this run. It returns the fork and the
// new run. Credentials in the prompt stay masked, because the record has only the masked text. Errors: those of [Host.Fork], of
// [Session.Prompt] and [fault.ErrModelNotFound]; then there is no fork.
func (h *Host) Resend(ctx context.Context, id, run string, r Resend) (s *Session, newRun string, err error) {
	from, err := h.Session(ctx, id)
	if err != nil {
		return nil, "", err
	}
	sent, err := h.commands.resend.run(ctx, from, resendOf{run, r})
	if err != nil {
		return nil, "", err
	}
	s, err = h.awaitSession(ctx, sent.Session)
	return s, sent.Run, err
}

func (s *Session) resendHere(ctx context.Context, r resendOf) (resent, error) {
	if err := s.checkNoRun(errForkBusy); err != nil {
		return resent{}, err
	}
	end, err := s.findCut(ctx, Cut{Before: r.Run})
	if err != nil {
		return resent{}, err
	}
	p, err := end.resent(r.Prompt)
	if err != nil {
		return resent{}, err
	}
	fork, err := s.host.forkAt(ctx, s, end, r.Prompt.Model)
	if err != nil {
		return resent{}, err
	}
	run, err := fork.Prompt(p)
	if err != nil {
		return resent{}, errors.Join(err, s.host.Delete(context.WithoutCancel(ctx), fork.id))
	}
	return resent{fork.id, run}, nil
}

// errForkBusy rejects a fork of a session whose record and conversation still change.
var errForkBusy = fault.Errorf(fault.Busy, "the session can be forked when the current run has ended")

// forkEnd is where the copy of a record ends.
type forkEnd struct {
	last   uint64        // number of the last entry
	cut    time.Time     // start of the first run that the copy does not have; zero if it has all
	empty  bool          // no run precedes the cut
	prompt *event.Prompt // of the first run that the copy does not have; nil if unknown
}

// resent returns the prompt that follows the cut, to be sent again.
func (e forkEnd) resent(r Resend) (event.Prompt, error) {
	if e.prompt == nil {
		return event.Prompt{}, fault.Errorf(fault.Invalid, "the run has no prompt to send again")
	}
	p := *e.prompt
	p.Steer, p.Text, p.By = false, cmp.Or(r.Text, p.Text), r.By
	return p, errors.Join(p.Check(), p.CheckFiles())
}

// findCut finds the end of a fork in the record. Errors: [fault.ErrRunNotFound].
func (s *Session) findCut(ctx context.Context, c Cut) (forkEnd, error) {
	end := forkEnd{last: s.record.Last()}
	if c == (Cut{}) {
		return end, nil
	}
	runs, found := 0, false
	err := s.eachEntry(ctx, end.last, func(e journal.Entry[event.Event]) bool {
		switch b := e.Value.Body.(type) {
		case event.UserMessage:
			if !end.cut.IsZero() {
				end.prompt = &b.Prompt
				return false
			}
		case event.RunStarted:
			if !end.cut.IsZero() {
				return false // the cut run has no prompt
			}
			if found || e.Value.Run == c.Before {
				found, end.last, end.cut, end.empty = true, e.N-1, e.Value.Time, runs == 0
				return c.Before != "" // to read its prompt
			}
			found = e.Value.Run == c.After
			runs++
		}
		return true
	}, func() { runs++ })
	if err == nil && !found {
		err = fault.ErrRunNotFound
	}
	return end, err
}

// eachEntry calls visit with the entries of the record up to number last, until it returns false, and missing for entries that are
// no longer kept.
func (s *Session) eachEntry(ctx context.Context, last uint64, visit func(journal.Entry[event.Event]) bool, missing func()) error {
	now, cancel := context.WithCancel(ctx)
	cancel() // Next does not wait
	for after := uint64(0); after < last; {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := s.record.Next(now, after, storeBatch)
		var gap *journal.GapError
		if errors.As(err, &gap) {
			after = gap.First - 1
			missing()
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if after = e.N; e.N > last || !visit(e) {
				return nil
			}
		}
	}
	return nil
}

// forkAt makes a fork with a model; "" means that of the session.
func (h *Host) forkAt(ctx context.Context, from *Session, end forkEnd, model string) (*Session, error) {
	on, err := from.forkAgent(end, model)
	if err != nil {
		return nil, err
	}
	if err := h.reserveSession(); err != nil {
		return nil, err
	}
	s, err := h.openFork(ctx, on, from, end, model)
	if err != nil {
		h.releaseSession()
		return nil, err
	}
	if err := h.register(s); err != nil {
		return nil, err
	}
	s.awaitShared(ctx)
	return s, nil
}

// forkAgent returns the agent of a fork with a model: that of the session, unless there is no conversation to copy.
func (s *Session) forkAgent(end forkEnd, model string) (*agentPool, error) {
	on, err := s.agentPool()
	if err != nil && (model == "" || !end.empty) {
		return nil, err
	}
	to := on
	if model != "" {
		to = s.agentOf(model)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch isEmpty := end.empty || s.machine.History() != session.HasContent; {
	case isEmpty:
		return to, nil
	case to != on:
		return nil, errOtherAgent(on.Name, to.Name)
	}
	return on, on.require(agent.Forking)
}

func (h *Host) openFork(ctx context.Context, on *agentPool, from *Session, end forkEnd, model string) (*Session, error) {
	title := h.forkTitle(ctx, from)
	lease, err := on.pool.AcquireIn(ctx, from.directory)
	if err != nil {
		return nil, err
	}
	id, known, err := forkConversation(ctx, on, lease.Agent, from, end)
	if err != nil {
		lease.Release()
		return nil, err
	}
	s := from.cloneForFork(on, id, title, model, end.empty)
	if err = s.copyRecord(ctx, from, end); err != nil {
		lease.Release()
	} else {
		s.copyCheckpoints(ctx, from)
		err = s.open(ctx, on, lease)
	}
	if err != nil {
		h.clientServers.forget(id)
	}
	if err != nil && known {
		err = errors.Join(err, on.forget(context.WithoutCancel(ctx), id))
	}
	return s, err
}

// forkConversation copies the agent's conversation up to the cut. known is false if the agent has nothing to copy.
func forkConversation(ctx context.Context, on *agentPool, a agent.Agent, from *Session, end forkEnd) (id string, known bool, err error) {
	if end.empty || !on.can(agent.Forking) {
		return newID(), false, nil
	}
	id, err = a.Fork(ctx, from.id, end.cut)
	if fault.KindOf(err) == fault.NotFound {
		return newID(), false, nil
	}
	return id, err == nil, err
}

// cloneForFork returns a session with the settings of this one, without its record. An empty one starts a new conversation.
func (s *Session) cloneForFork(on *agentPool, id, title, model string, empty bool) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newSession(s.host, id, s.model, Start{
		Origin: s.origin, Directory: s.directory, Servers: s.host.clientServers.of(s.id), Capabilities: s.capabilities,
	})
	c.title, c.settings = title, s.settings
	c.settings.Agent, c.settings.ForkOf = on.Name, ForkOrigin{s.id, cmp.Or(s.title, s.settings.Prompt)}
	c.settings.Saved, c.settings.Pinned, c.settings.Archived, c.settings.LastRunEnd = savedConversation{}, false, false, 0
	if title != "" {
		c.titledBy = titleByUser
	}
	if !empty {
		c.machine.SetHistory(s.machine.History())
	}
	if model != "" {
		c.model, c.settings.ModelUnresolved = agent.Model{ID: model}, true
	}
	return c
}

// copyRecord copies the record of another session up to an end, without superseded deltas. An error event replaces missing entries;
// a run that started meanwhile ends in the copy.
func (s *Session) copyRecord(ctx context.Context, from *Session, end forkEnd) error {
	record := func(e event.Event) { _, _ = s.record.Append(e) } // the record is open
	left := unfinished{started: map[string]bool{}}
	if !end.cut.IsZero() {
		s.settings.runSummary, s.settings.Usage = runSummary{}, Usage{}
	}
	waiting := false
	err := from.eachEntry(ctx, end.last, func(e journal.Entry[event.Event]) bool {
		if e.Superseded {
			return true
		}
		record(e.Value)
		left.apply(e.Value)
		if q, ok := e.Value.Body.(event.QueueChanged); ok {
			waiting = len(q.Waiting) > 0
		}
		if !end.cut.IsZero() {
			s.recount(e.Value)
		}
		return true
	}, func() {
		record(event.Event{Time: time.Now(), Body: event.NewSessionError(fault.Errorf(fault.Internal, "some events of the original are no longer kept"))})
	})
	if err != nil {
		return err
	}
	s.endForkedRun(left)
	if waiting { // the prompts wait in the original
		record(event.Event{Time: time.Now(), Body: event.QueueChanged{Waiting: []event.Waiting{}}})
	}
	if s.title != "" {
		record(event.Event{Time: time.Now(), Body: event.TitleChanged{Title: s.title}})
	}
	s.settings.LastRunEnd = s.record.Last()
	return nil
}

// recount updates the summary of a fork that is still being copied.
func (s *Session) recount(e event.Event) {
	switch b := e.Body.(type) {
	case event.RunStarted:
		s.settings.Run = e.Run
	case event.RunEnded:
		s.settings.Outcome = b.Outcome
	case event.UserMessage:
		s.settings.addPrompt(b.Prompt)
	default:
		s.addUsage(b)
	}
}

// endForkedRun ends the run, with its questions and blocks, that continues at the end of the copy.
func (s *Session) endForkedRun(left unfinished) {
	if left.Run == "" {
		return
	}
	end := func(agent string, b event.Body) {
		_, _ = s.record.Append(event.Event{Time: time.Now(), Run: left.Run, Agent: agent, Body: b})
	}
	for _, q := range slices.Concat(left.Orphans, left.Questions) {
		end("", event.QuestionClosed{ID: q.ID, Kind: q.Kind, Ending: event.Withdrawn})
	}
	for _, b := range left.blocks.Open() {
		end(b.Agent, b.EndEvent())
	}
	s.settings.Outcome = event.Interrupted
	end("", event.RunEnded{Outcome: s.settings.Outcome, Text: "the session was forked here"})
}
