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
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

// byPlugin names the plugin in answers.
const byPlugin = "callback"

// callbackRelay carries the questions of a session to the plugin, and its answers back. One
// goroutine reads the record, and each callback is another one.
type callbackRelay struct {
	api     *API
	session *copilot.Session
	use     *sessionUse
	encoder *encoder // knows the arguments of calls
	work    sync.WaitGroup

	mu    sync.Mutex
	calls map[string]*callbackRequest // by call: the pending ones
}

// callbackRequest is a request to the plugin, and the open questions that its answer answers.
// Under `ask` a tool of the plugin has two: first whether it may be used, then its result.
type callbackRequest struct {
	cancel     context.CancelFunc
	permission string    // the id of a question, "" if it is not open
	tool       string    // likewise
	decision   *decision // nil before the answer
}

// follow starts to carry a session's questions to the plugin, unless something does. url is the
// address that the client gives now; otherwise the session has one, or a restored one of this
// dialect uses the configured one.
func (a *API) follow(s *copilot.Session, url string) {
	u := a.use(s)
	u.mu.Lock()
	defer u.mu.Unlock()
	if url != "" {
		u.callback = url
	}
	if u.callback == "" && !u.known {
		u.callback = a.storedCallback(s)
	}
	if u.callback == "" || u.following == s {
		return
	}
	c := &callbackRelay{api: a, session: s, use: u, encoder: newEncoder(), calls: map[string]*callbackRequest{}}
	if a.begin(c.run) {
		u.following = s
	}
}

// redirect carries a session's questions to another address. undo restores the address before, which may be none.
func (a *API) redirect(s *copilot.Session, url string) (undo func()) {
	u := a.use(s)
	before := u.address()
	a.follow(s, url)
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.callback = before
	}
}

// storedCallback returns the callback address of a restored session; "" if it has none.
func (a *API) storedCallback(s *copilot.Session) string {
	given, err := CallbackAddress(s.Attribute(attributeCallback), a.options.Remote)
	if err != nil {
		a.options.Log.Warn("ignoring the callback address of a session", "session", s.ID(), "err", err)
	}
	if given == "" && s.Info().Origin == Origin {
		given, _ = CallbackAddress(a.options.Callback, a.options.Remote) // New's caller has checked it
	}
	return given
}

// run reads the record to its end. It starts with the questions of previous portals that are still
// open.
func (c *callbackRelay) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer c.stopped()
	defer c.work.Wait()
	defer cancel()
	record := c.session.Record()
	after := record.Last()
	c.askPending(ctx, after)
	for b, err := range follow.Record(record, after).All(ctx) {
		if err != nil {
			return
		}
		for _, e := range b.Entries { // questions after a gap are still asked
			c.handle(ctx, e)
			if _, opened := e.Value.Body.(event.SessionOpened); opened {
				c.askPending(ctx, e.N)
			}
		}
	}
}

// askPending handles the entries up to n of the run at work, and asks only what is still open: a previous portal or another process
// may have left it.
func (c *callbackRelay) askPending(ctx context.Context, n uint64) {
	entries, _, err := entriesOfRun(ctx, c.session.Record(), n)
	if err != nil {
		return
	}
	over := map[string]bool{}
	for _, e := range entries {
		if b, ok := e.Value.Body.(event.QuestionClosed); ok {
			over[b.ID] = true
		}
	}
	for _, e := range entries {
		if b, ok := e.Value.Body.(event.QuestionAsked); !ok || !over[b.Question.ID] {
			c.handle(ctx, e)
		}
	}
}

func (c *callbackRelay) stopped() {
	c.use.mu.Lock()
	defer c.use.mu.Unlock()
	if c.use.following == c.session { // otherwise another relay has replaced this one
		c.use.following = nil
	}
}

func (c *callbackRelay) handle(ctx context.Context, e follow.Entry) {
	switch b := e.Value.Body.(type) {
	case event.ToolStarted, event.ToolEnded:
		c.encoder.encode(e)
	case event.QuestionAsked:
		if b.Question.Kind == event.AskPermission || b.Question.Kind == event.AskTool {
			c.asked(ctx, b.Question, e.N)
		}
	case event.QuestionClosed:
		c.answered(b)
	case event.RunEnded:
		c.encoder.encode(e)
		c.abandon()
	}
}

// asked posts a tool call, or joins the pending post of the same call. Calls of a run in another
// process belong to the plugin of that process.
func (c *callbackRelay) asked(ctx context.Context, q event.Question, n uint64) {
	if c.session.Info().Owner != 0 || c.use.address() == "" {
		return
	}
	key, own := q.ID, q.Tool != "" && q.Call != ""
	if own {
		key = q.Call
	}
	c.mu.Lock()
	cb, begun := c.calls[key]
	if !begun {
		cb = &callbackRequest{}
		c.calls[key] = cb
	}
	if q.Kind == event.AskTool {
		cb.tool = q.ID
	} else {
		cb.permission = q.ID
	}
	settled := cb.decision != nil
	c.mu.Unlock()
	if settled {
		c.settle(cb)
	}
	if !begun {
		c.begin(ctx, cb, callRequest{
			SessionID: c.session.ID(), ToolName: c.encoder.toolOf(q), CallID: callOf(q),
			Args: jsonrpc.Object(c.encoder.arguments(q)), ApprovalOnly: q.Kind == event.AskPermission && !own,
		}, n)
	}
}

// begin posts a request and answers the questions that wait for it. Before a permission is asked,
// the streams send its event.
func (c *callbackRelay) begin(ctx context.Context, cb *callbackRequest, r callRequest, n uint64) {
	ctx, cancel := context.WithTimeout(ctx, c.api.options.Limit)
	c.mu.Lock()
	cb.cancel = cancel
	c.mu.Unlock()
	c.work.Go(func() {
		defer cancel()
		c.awaitStreams(ctx, n)
		v := c.api.post(ctx, c.use.address(), r)
		if errors.Is(ctx.Err(), context.Canceled) {
			return // another client has answered
		}
		c.mu.Lock()
		cb.decision = &v
		c.mu.Unlock()
		c.settle(cb)
	})
}

// awaitStreams waits until all streams have sent everything up to a number, except those whose
// client does not read.
func (c *callbackRelay) awaitStreams(ctx context.Context, n uint64) {
	const often, limit = 2 * time.Millisecond, 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !c.use.allDelivered(n) {
		select {
		case <-time.After(often):
		case <-ctx.Done():
			return
		}
	}
}

// settle answers the open questions of an answered callback.
func (c *callbackRelay) settle(cb *callbackRequest) {
	c.mu.Lock()
	v, permission, tool := *cb.decision, cb.permission, cb.tool
	c.mu.Unlock()
	if permission != "" {
		c.answer(permission, v.permission())
	}
	if tool != "" {
		c.answer(tool, v.result())
	}
}

// answer answers a question. It is no error if the question is closed: another client may have
// been first.
func (c *callbackRelay) answer(id string, a event.Answer) {
	err := c.session.Answer(id, a, byPlugin)
	if err != nil && !errors.Is(err, fault.ErrAlreadyAnswered) && !errors.Is(err, fault.ErrQuestionNotFound) {
		c.api.options.Log.Warn("session rejected the answer to a callback", "session", c.session.ID(), "err", err)
	}
}

// answered records that a question is closed. A post continues only for a call that was approved:
// its result is asked for next.
func (c *callbackRelay) answered(b event.QuestionClosed) {
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

// abandon ends all posts because the run has ended.
func (c *callbackRelay) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, cb := range c.calls {
		delete(c.calls, key)
		cb.stop()
	}
}

func (cb *callbackRequest) stop() {
	if cb.cancel != nil {
		cb.cancel()
	}
}

// decision is the answer of the plugin, or the consequence of having none.
type decision struct {
	ok       bool
	remember bool
	scope    permission.ScopeKind
	text     string // the result, for the model
	reason   string // why not, for the model
}

// permission returns the answer whether a tool may be used. A tool that failed had the permission.
func (v decision) permission() event.Answer {
	return event.Answer{Approved: v.ok, Remember: v.remember, Scope: v.scope, Reason: v.reason}
}

func (v decision) result() event.Answer {
	if v.ok {
		return event.Answer{Text: v.text}
	}
	return event.Answer{Failed: true, Reason: v.reason}
}

// callRequest is the request to the plugin.
type callRequest struct {
	SessionID    string `json:"sessionId"`
	ToolName     string `json:"toolName"`
	CallID       string `json:"callId"`
	Args         any    `json:"args"`
	ApprovalOnly bool   `json:"approvalOnly,omitempty"`
}

// callResponse is the response of the plugin.
type callResponse struct {
	Success     *bool                `json:"success"`
	Result      json.RawMessage      `json:"result"`
	Error       string               `json:"error"`
	UserMessage string               `json:"userMessage"`
	Remember    bool                 `json:"remember"`
	Scope       permission.ScopeKind `json:"scope"`
}
