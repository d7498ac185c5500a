package sdk

import (
	"context"
	"slices"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// pendingQuestions are the questions that were open when an earlier process died. The conversation's lock
// guards it.
type pendingQuestions struct {
	all       []string                  // their ids
	questions map[string]event.Question // those that are still open
	calls     map[string]bool           // calls whose start was reported then; the CLI reports it again
	renamed   map[string]string         // original ids, by the ids under which the CLI asks again
}

// resumePending puts a new conversation into the middle of its prompt.
func (c *conversation) resumePending(questions []event.Question) {
	c.pending = pendingQuestions{questions: map[string]event.Question{}, calls: map[string]bool{}, renamed: map[string]string{}}
	for _, q := range questions {
		c.prompt = begun
		c.pending.all = append(c.pending.all, q.ID)
		c.pending.questions[q.ID] = q
		c.pending.calls[q.Call] = true
		c.questions[q.ID] = ""
	}
}

// repeats reports whether the CLI repeats an open question.
func (p *pendingQuestions) repeats(q event.Question) bool {
	for id, old := range p.questions {
		if q.ID == id {
			return true
		}
		if q.Call != "" && q.Call == old.Call && q.Kind == old.Kind {
			p.renamed[q.ID] = id
			return true
		}
	}
	return false
}

// sessionID returns the session's id of a question.
func (p *pendingQuestions) sessionID(id string) string {
	if old, ok := p.renamed[id]; ok {
		return old
	}
	return id
}

// vendorID returns the CLI's id of a question.
func (p *pendingQuestions) vendorID(id string) string {
	for name, old := range p.renamed {
		if old == id {
			return name
		}
	}
	return id
}

// inspectResumed checks the state of a resumed conversation. resumed says whether the CLI had it saved.
func (c *conversation) inspectResumed(ctx context.Context, o agent.Opening, resumed bool) error {
	goesOn := false
	if resumed && len(o.Pending) > 0 {
		err := c.agent.call(ctx, callTimeout, func(ctx context.Context) (err error) {
			goesOn, err = c.endUnknownQuestions(ctx, o.Pending)
			return err
		})
		if err != nil {
			_ = c.agent.withTimeout(ctx, c.session.Disconnect) // otherwise it waits as long as its process lives
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Resume && !resumed {
		c.sink("", notResumed())
	}
	if len(o.Pending) > 0 && !goesOn {
		c.idle(event.Idle{Aborted: true})
	}
	return nil
}

// endUnknownQuestions closes the questions that the CLI no longer knows: those of sub-agents, which do not
// survive, and those that it had not saved. It refuses unknown questions of the CLI, because the
// CLI would wait for ever. It reports whether the CLI continues the prompt.
func (c *conversation) endUnknownQuestions(ctx context.Context, questions []event.Question) (bool, error) {
	open, err := c.unanswered(ctx)
	if err != nil {
		return false, err
	}
	goesOn := c.withdrawUnknown(questions, open)
	for id, kind := range open {
		refusal := event.Answer{Failed: true, Reason: "It was interrupted."}
		if err := c.answer(ctx, event.Question{ID: id, Kind: kind}, refusal); err != nil {
			return false, err
		}
	}
	if goesOn {
		return true, nil
	}
	r, err := c.session.RPC.Metadata.IsProcessing(ctx)
	return err == nil && r.Processing, err
}

// checkStillWorking checks whether the CLI still works if it rejected an answer to a pending question. If
// not, nothing else would end the prompt.
func (c *conversation) checkStillWorking(ctx context.Context, q event.Question) error {
	if !c.isPending(q) {
		return nil
	}
	r, err := c.session.RPC.Metadata.IsProcessing(ctx)
	if err != nil || r.Processing {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.idle(event.Idle{Aborted: true})
	}
	return nil
}

// isPending reports whether a question was resumed.
func (c *conversation) isPending(q event.Question) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.pending.all, c.pending.sessionID(q.ID))
}

// withdrawUnknown closes the questions that are not open, and removes the others from open. It reports
// whether any are open.
func (c *conversation) withdrawUnknown(questions []event.Question, open map[string]event.QuestionKind) (known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range questions {
		if _, is := open[q.ID]; is {
			known = true
			delete(open, q.ID)
			continue
		}
		c.emit("", event.QuestionClosed{ID: q.ID, Ending: event.Withdrawn})
	}
	return known
}

// mostOpen is the maximum number of events searched for questions.
const mostOpen = 1000

// unanswered reads from the CLI's record which permissions and tool results the main agent waits for, by id.
func (c *conversation) unanswered(ctx context.Context) (map[string]event.QuestionKind, error) {
	backward, most := rpc.EventsReadDirectionBackward, int64(mostOpen)
	types := rpc.EventLogTypes{}
	for _, data := range []rpc.SessionEventData{
		&rpc.PermissionRequestedData{}, &rpc.PermissionCompletedData{}, &rpc.ExternalToolRequestedData{}, &rpc.ExternalToolCompletedData{}, &rpc.AbortData{},
	} {
		types.StringArray = append(types.StringArray, string(data.Type()))
	}
	log, err := c.session.RPC.EventLog.Read(ctx, &rpc.EventLogReadRequest{Direction: &backward, Max: &most, Types: &types})
	if err != nil {
		return nil, err
	}
	open := map[string]event.QuestionKind{}
	for _, e := range log.Events {
		if text(e.AgentID) == "" {
			follow(open, e.Data)
		}
	}
	return open, nil
}

// follow updates the open questions after an event.
func follow(open map[string]event.QuestionKind, data rpc.SessionEventData) {
	switch d := data.(type) {
	case *rpc.PermissionRequestedData:
		open[d.RequestID] = event.AskPermission
	case *rpc.PermissionCompletedData:
		delete(open, d.RequestID)
	case *rpc.ExternalToolRequestedData:
		open[d.RequestID] = event.AskTool
	case *rpc.ExternalToolCompletedData:
		delete(open, d.RequestID)
	case *rpc.AbortData:
		clear(open)
	}
}
