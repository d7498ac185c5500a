package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

// byPlugin names the plugin, and what speaks for it, in answers.
const byPlugin = "callback"

// caller carries what a session waits for to the plugin, and its answers back.
// One goroutine reads the record; each call-back is another one.
type caller struct {
	api     *API
	session *copilot.Session
	use     *use
	teller  *teller // knows the arguments of calls
	work    sync.WaitGroup

	mu    sync.Mutex
	calls map[string]*callback // those that may still matter
}

// callback is one request to the plugin, and the open questions that its answer
// answers: a tool of the plugin is asked for twice under `ask`, first whether it
// may be used, then for its result.
type callback struct {
	cancel     context.CancelFunc
	permission string   // the id of a question, "" if it is not open
	tool       string   // likewise
	verdict    *verdict // nil until it is there
}

// follow begins to carry a session's questions to the plugin, unless that is
// being done. url is one that its client gives now; else the session knows that of
// its client, or one of this dialect that was restored takes the configured one.
func (a *API) follow(s *copilot.Session, url string) {
	u := a.use(s)
	u.mu.Lock()
	defer u.mu.Unlock()
	if url != "" {
		u.callback = url
	}
	if u.callback == "" && !u.known {
		u.callback = a.keptCallback(s)
	}
	if u.callback == "" || u.following == s {
		return
	}
	c := &caller{api: a, session: s, use: u, teller: newTeller(), calls: map[string]*callback{}}
	if a.begin(c.run) {
		u.following = s
	}
}

// keptCallback is the address of call-backs of a session that was restored, "" for none.
func (a *API) keptCallback(s *copilot.Session) string {
	given, err := CallbackAddress(s.Attribute(attributeCallback), a.options.Remote)
	if err != nil {
		a.options.Log.Warn("the call-back address of a session is not used", "session", s.ID(), "err", err)
	}
	if given == "" && s.Info().Origin == Origin {
		given, _ = CallbackAddress(a.options.Callback, a.options.Remote) // New's caller has seen it
	}
	return given
}

// run reads the record to its end. What was asked in an earlier life of the
// portal, and is open, comes first.
func (c *caller) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer c.stopped()
	defer c.work.Wait()
	defer cancel()
	record := c.session.Record()
	after := record.Last()
	entries, _, err := recent(ctx, record, after)
	if err == nil {
		c.takeUp(ctx, entries)
	}
	for {
		entries, err := record.Next(ctx, after, batchEvents)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			after = gap.First - 1
		case err != nil || ctx.Err() != nil:
			return
		}
		for _, e := range entries {
			c.take(ctx, e)
			after = e.N
			if _, opened := e.Value.Body.(event.SessionOpened); opened {
				c.takeOver(ctx, e.N)
			}
		}
	}
}

// takeOver asks what is open in a session that has come here from another process.
func (c *caller) takeOver(ctx context.Context, n uint64) {
	if entries, _, err := recent(ctx, c.session.Record(), n); err == nil {
		c.takeUp(ctx, entries)
	}
}

func (c *caller) stopped() {
	c.use.mu.Lock()
	defer c.use.mu.Unlock()
	if c.use.following == c.session { // else another has its place, as the session was read anew
		c.use.following = nil
	}
}

// takeUp looks at what has happened, and asks only what is still open.
func (c *caller) takeUp(ctx context.Context, entries []journal.Entry[event.Event]) {
	over := map[string]bool{}
	for _, e := range entries {
		if b, ok := e.Value.Body.(event.QuestionClosed); ok {
			over[b.ID] = true
		}
	}
	for _, e := range entries {
		if b, ok := e.Value.Body.(event.QuestionAsked); !ok || !over[b.Question.ID] {
			c.take(ctx, e)
		}
	}
}

func (c *caller) take(ctx context.Context, e journal.Entry[event.Event]) {
	switch b := e.Value.Body.(type) {
	case event.ToolStarted, event.ToolEnded:
		c.teller.tell(e)
	case event.QuestionAsked:
		if b.Question.Kind == event.AskPermission || b.Question.Kind == event.AskTool {
			c.asked(ctx, b.Question, e.N)
		}
	case event.QuestionClosed:
		c.answered(b)
	case event.RunEnded:
		c.teller.tell(e)
		c.abandon()
	}
}

// asked posts a call of a tool, or joins the post that there is for it already.
// What another process works at is for the plugin of that one.
func (c *caller) asked(ctx context.Context, q event.Question, n uint64) {
	if c.session.Info().Owner != 0 {
		return
	}
	key, own := q.ID, q.Tool != "" && q.Call != ""
	if own {
		key = q.Call
	}
	c.mu.Lock()
	cb, begun := c.calls[key]
	if !begun {
		cb = &callback{}
		c.calls[key] = cb
	}
	if q.Kind == event.AskTool {
		cb.tool = q.ID
	} else {
		cb.permission = q.ID
	}
	settled := cb.verdict != nil
	c.mu.Unlock()
	if settled {
		c.settle(cb)
	}
	if !begun {
		c.begin(ctx, cb, callRequest{
			SessionID: c.session.ID(), ToolName: c.teller.toolOf(q), CallID: callOf(q),
			Args: jsonrpc.Object(c.teller.arguments(q)), ApprovalOnly: q.Kind == event.AskPermission && !own,
		}, n)
	}
}

// begin posts a request and answers what waits for it then. Where a permission is
// asked, the streams are told first.
func (c *caller) begin(ctx context.Context, cb *callback, r callRequest, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, c.api.options.Limit)
	c.mu.Lock()
	cb.cancel = cancel
	c.mu.Unlock()
	c.work.Go(func() {
		defer cancel()
		c.awaitStreams(ctx, n)
		v := c.api.post(ctx, c.use.address(), r)
		if errors.Is(ctx.Err(), context.Canceled) {
			return // somebody else has answered
		}
		c.mu.Lock()
		cb.verdict = &v
		c.mu.Unlock()
		c.settle(cb)
	})
}

// awaitStreams waits until all streams have told everything up to a number, but
// not for one that does not read.
func (c *caller) awaitStreams(ctx context.Context, n uint64) {
	const often, limit = 2 * time.Millisecond, 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !c.use.told(n) {
		select {
		case <-time.After(often):
		case <-ctx.Done():
			return
		}
	}
}

// settle answers the open questions of a call-back that was answered.
func (c *caller) settle(cb *callback) {
	c.mu.Lock()
	v, permission, tool := *cb.verdict, cb.permission, cb.tool
	c.mu.Unlock()
	if permission != "" {
		c.answer(permission, v.permission())
	}
	if tool != "" {
		c.answer(tool, v.result())
	}
}

// answer answers a question. That it is over already is no fault: any client may
// have been first.
func (c *caller) answer(id string, a event.Answer) {
	err := c.session.Answer(id, a, byPlugin)
	if err != nil && !errors.Is(err, fault.ErrAlreadyAnswered) && !errors.Is(err, fault.ErrQuestionNotFound) {
		c.api.options.Log.Warn("the answer to a call-back was not taken", "session", c.session.ID(), "err", err)
	}
}

// answered takes note that a question is over. A post goes on only for a call
// that was approved meanwhile: its result is asked for next.
func (c *caller) answered(b event.QuestionClosed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, cb := range c.calls {
		approved := cb.permission == b.ID && key != b.ID && b.Ending == event.Answered && b.Answer.Approved
		switch {
		case cb.permission != b.ID && cb.tool != b.ID:
		case approved:
			cb.permission = ""
		default:
			delete(c.calls, key)
			cb.stop()
		}
	}
}

// abandon ends all posts: the run is over.
func (c *caller) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, cb := range c.calls {
		delete(c.calls, key)
		cb.stop()
	}
}

func (cb *callback) stop() {
	if cb.cancel != nil {
		cb.cancel()
	}
}

// verdict is what the plugin, or its silence, amounts to.
type verdict struct {
	ok       bool
	remember bool
	scope    permission.ScopeKind
	text     string // the result, for the model
	reason   string // why not, for the model
}

// permission is the answer to whether a tool may be used. One that failed was
// allowed to be tried.
func (v verdict) permission() event.Answer {
	return event.Answer{Approved: v.ok, Remember: v.remember, Scope: v.scope, Reason: v.reason}
}

func (v verdict) result() event.Answer {
	if v.ok {
		return event.Answer{Text: v.text}
	}
	return event.Answer{Failed: true, Reason: v.reason}
}

// callRequest is what the plugin is asked.
type callRequest struct {
	SessionID    string `json:"sessionId"`
	ToolName     string `json:"toolName"`
	CallID       string `json:"callId"`
	Args         any    `json:"args"`
	ApprovalOnly bool   `json:"approvalOnly,omitempty"`
}

// callResponse is what it answers.
type callResponse struct {
	Success     *bool                `json:"success"`
	Result      json.RawMessage      `json:"result"`
	Error       string               `json:"error"`
	UserMessage string               `json:"userMessage"`
	Remember    bool                 `json:"remember"`
	Scope       permission.ScopeKind `json:"scope"`
}
