package ui

import (
	"context"
	"errors"
	"sync"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

// uiRequest is a question that the UI has not answered yet. It belongs to the connection: a UI
// that attaches again keeps the open dialog.
type uiRequest struct {
	session  string
	withdraw context.CancelFunc
}

// ask sends a question to the UI and returns when the request is queued behind earlier messages. A
// goroutine waits for the answer. If the UI cannot ask the question and started the run, ask
// answers it instead.
func (n *connection) ask(ctx context.Context, relay questionRelay) {
	if s, ok := n.host().Loaded(relay.session); ok && !s.HasOpenQuestion(relay.question.ID) {
		return // it is closed: the next entries say so
	}
	if !n.canAsk(relay.session, relay.question) {
		n.answerUnattended(ctx, relay)
		return
	}
	queued := make(chan struct{})
	relay.queued = sync.OnceFunc(func() { close(queued) })
	own, r := n.register(ctx, relay)
	if r == nil {
		return
	}
	n.work.Go(func() {
		defer n.drop(relay.question.ID, r)
		defer relay.queued()
		n.askUI(own, relay)
	})
	select {
	case <-queued:
	case <-ctx.Done():
	}
}

// register registers a question; nil if it is already. The context ends when the question is
// withdrawn.
func (n *connection) register(ctx context.Context, relay questionRelay) (context.Context, *uiRequest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked[relay.question.ID] != nil {
		return nil, nil
	}
	own, withdraw := context.WithCancel(context.WithoutCancel(ctx))
	r := &uiRequest{relay.session, withdraw}
	n.asked[relay.question.ID] = r
	return own, r
}

// drop removes an ended request; the question may be asked again by then.
func (n *connection) drop(question string, r *uiRequest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r.withdraw()
	if n.asked[question] == r {
		delete(n.asked, question)
	}
}

// withdraw cancels the request of a closed question. JSON-RPC has no message for that; a later
// reply is ignored.
func (n *connection) withdraw(question string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r, open := n.asked[question]; open {
		r.withdraw()
		delete(n.asked, question)
	}
}

// withdrawAll cancels the requests of a session.
func (n *connection) withdrawAll(session string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, r := range n.asked {
		if r.session == session {
			r.withdraw()
			delete(n.asked, id)
		}
	}
}

// attempts limits how often a question is asked whose answers are invalid.
const attempts = 3

// askUI asks the UI and gives its answer to the session. The first answer of any client wins.
func (n *connection) askUI(ctx context.Context, relay questionRelay) {
	for range attempts {
		answer, ok := n.readAnswer(ctx, relay)
		if !ok {
			return
		}
		err := n.answer(ctx, relay, answer)
		if fault.KindOf(err) != fault.Invalid {
			return
		}
		relay.lastError = err.Error()
	}
	if n.mayAnswerUnattended(relay.run, relay.question) {
		_ = n.answer(ctx, relay, declined(relay.question))
	}
}

// readAnswer returns an answer of the UI; ok is false if there is none.
func (n *connection) readAnswer(ctx context.Context, relay questionRelay) (answer event.Answer, ok bool) {
	answer, err := relay.askUser(ctx)
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		return answer, true
	case ctx.Err() != nil, errors.Is(err, jsonrpc.ErrGone), errors.Is(err, jsonrpc.ErrClosed):
		answer = declined(relay.question)
		answer.Reason = "The client that has this tool has disconnected."
		return answer, relay.question.Kind == event.AskTool // no other client has it
	case errors.As(err, &refused) && refused.Code == codeDeclined:
		return declined(relay.question), true
	}
	n.api.options.Log.Warn("UI sent an unreadable answer", "session", relay.session, "question", relay.question.ID, "err", err)
	answer = declined(relay.question)
	answer.Reason = "The UI sent an unreadable answer."
	return answer, relay.question.Kind == event.AskTool || n.mayAnswerUnattended(relay.run, relay.question)
}

// answer gives an answer to the session. An answer that does not fit is an error of the kind
// Invalid.
func (n *connection) answer(ctx context.Context, relay questionRelay, a event.Answer) error {
	s, err := n.host().Session(context.WithoutCancel(ctx), relay.session)
	if err == nil {
		err = s.AnswerAs(ctx, relay.question.ID, a, Origin)
	}
	if err == nil || errors.Is(err, fault.ErrAlreadyAnswered) || errors.Is(err, fault.ErrQuestionNotFound) {
		return nil
	}
	n.api.options.Log.Warn("session rejected the answer of a UI", "session", relay.session, "question", relay.question.ID, "err", err)
	return err
}

// answerUnattended answers a question that the UI cannot ask in a run that it started
// (spec/contracts/ui-protocol.notes.md, "Rules that real UIs rely on": permissions.headless).
// Other clients come too late.
func (n *connection) answerUnattended(ctx context.Context, relay questionRelay) {
	if !n.mayAnswerUnattended(relay.run, relay.question) {
		return
	}
	a := relay.question.UnattendedAnswer(n.api.options.Headless)
	if !a.Approved {
		a.Reason = "This UI cannot ask, and permissions.headless does not allow it."
	}
	_ = n.answer(ctx, relay, a) // it is logged
}

// mayAnswerUnattended reports whether a question may be answered in place of the UI.
func (n *connection) mayAnswerUnattended(run string, q event.Question) bool {
	return q.Kind != event.AskTool && n.startedRun(run) && n.api.options.Headless != permission.Ask
}

// answersUnattended reports whether a question is answered in place of the UI.
func (n *connection) answersUnattended(session, run string, q event.Question) bool {
	return n.mayAnswerUnattended(run, q) && !n.canAsk(session, q)
}

// declined is the answer of a user who declines.
func declined(q event.Question) event.Answer {
	switch q.Kind {
	case event.AskInput:
		return event.Answer{Reason: "The user did not want to answer."}
	case event.AskTool:
		return event.Answer{Failed: true, Reason: "The client refused to do it."}
	case event.AskPermission, event.AskForm, event.AskPlan, event.AskSignIn:
	}
	return event.Answer{}
}

// canAsk reports whether the UI can ask a question, or execute a tool.
func (n *connection) canAsk(session string, q event.Question) bool {
	if q.Kind == event.AskTool {
		return n.api.ownsTools(session, n)
	}
	return n.capabilities().ability().CanAnswer(q)
}
