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

// uiRequest is a question that was put to the UI and has no answer yet. It belongs
// to the connection: who attaches to the session again keeps the dialog that is open.
type uiRequest struct {
	session  string
	withdraw context.CancelFunc
}

// ask puts a question to the UI, and returns when the request stands behind what
// was sent before. A goroutine waits for the answer. A question that the UI cannot
// put is decided in its place if it began the run.
func (n *connection) ask(ctx context.Context, d questionRelay) {
	if s, ok := n.host().Loaded(d.session); ok && !s.HasOpenQuestion(d.question.ID) {
		return // it is over, which is told next
	}
	if !n.canPut(d.session, d.question) {
		n.answerUnattended(ctx, d)
		return
	}
	queued := make(chan struct{})
	d.queued = sync.OnceFunc(func() { close(queued) })
	own, r := n.register(ctx, d)
	if r == nil {
		return
	}
	n.work.Go(func() {
		defer n.drop(d.question.ID, r)
		defer d.queued()
		n.askUI(own, d)
	})
	select {
	case <-queued:
	case <-ctx.Done():
	}
}

// register notes that a question is put; nil if it is already. The context ends
// when it is withdrawn.
func (n *connection) register(ctx context.Context, d questionRelay) (context.Context, *uiRequest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked[d.question.ID] != nil {
		return nil, nil
	}
	own, withdraw := context.WithCancel(context.WithoutCancel(ctx))
	r := &uiRequest{d.session, withdraw}
	n.asked[d.question.ID] = r
	return own, r
}

// drop forgets a request that has ended; the question may have been put again.
func (n *connection) drop(question string, r *uiRequest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r.withdraw()
	if n.asked[question] == r {
		delete(n.asked, question)
	}
}

// withdraw gives up a request: the question is over. JSON-RPC knows no word for
// that; a reply that comes later is ignored.
func (n *connection) withdraw(question string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r, open := n.asked[question]; open {
		r.withdraw()
		delete(n.asked, question)
	}
}

// withdrawAll gives up the requests of a session.
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

// attempts is how often a person is asked whose answers do not fit the question.
const attempts = 3

// askUI asks the UI and brings its answer to the session. The first answer counts,
// whoever gives it.
func (n *connection) askUI(ctx context.Context, d questionRelay) {
	for range attempts {
		answer, ok := n.readAnswer(ctx, d)
		if !ok {
			return
		}
		err := n.answer(ctx, d, answer)
		if fault.KindOf(err) != fault.Invalid {
			return
		}
		d.lastError = err.Error()
	}
	if n.mayAnswerUnattended(d.run, d.question) {
		_ = n.answer(ctx, d, declined(d.question))
	}
}

// readAnswer is one answer of the UI; not ok if there is none.
func (n *connection) readAnswer(ctx context.Context, d questionRelay) (answer event.Answer, ok bool) {
	answer, err := d.askUser(ctx)
	var refused *jsonrpc.Error
	switch {
	case err == nil:
		return answer, true
	case ctx.Err() != nil, errors.Is(err, jsonrpc.ErrGone), errors.Is(err, jsonrpc.ErrClosed):
		answer = declined(d.question)
		answer.Reason = "The client that has this tool has gone."
		return answer, d.question.Kind == event.AskTool // nobody else can do it
	case errors.As(err, &refused) && refused.Code == codeDeclined:
		return declined(d.question), true
	}
	n.api.options.Log.Warn("a UI gave an answer that cannot be read", "session", d.session, "question", d.question.ID, "err", err)
	answer = declined(d.question)
	answer.Reason = "The UI gave an answer that cannot be read."
	return answer, d.question.Kind == event.AskTool || n.mayAnswerUnattended(d.run, d.question)
}

// answer brings an answer to the session. Its error is of the kind Invalid for one
// that does not fit.
func (n *connection) answer(ctx context.Context, d questionRelay, a event.Answer) error {
	s, err := n.host().Session(context.WithoutCancel(ctx), d.session)
	if err == nil {
		err = s.Answer(d.question.ID, a, Origin)
	}
	if err == nil || errors.Is(err, fault.ErrAlreadyAnswered) || errors.Is(err, fault.ErrQuestionNotFound) {
		return nil
	}
	n.api.options.Log.Warn("an answer of a UI was not taken", "session", d.session, "question", d.question.ID, "err", err)
	return err
}

// answerUnattended answers in place of a UI that cannot put a question of a run that it
// began (spec/contracts/ui-protocol.notes.md, "Rules that real UIs
// rely on": permissions.headless). Other clients cannot any more.
func (n *connection) answerUnattended(ctx context.Context, d questionRelay) {
	if !n.mayAnswerUnattended(d.run, d.question) {
		return
	}
	a := d.question.UnattendedAnswer(n.api.options.Headless)
	if !a.Approved {
		a.Reason = "This UI cannot ask, and permissions.headless does not allow it."
	}
	_ = n.answer(ctx, d, a) // it is logged
}

// mayAnswerUnattended says whether a question can be answered in place of the UI.
func (n *connection) mayAnswerUnattended(run string, q event.Question) bool {
	return q.Kind != event.AskTool && n.startedRun(run) && n.api.options.Headless != permission.Ask
}

// answersUnattended says whether a question is answered in place of the UI.
func (n *connection) answersUnattended(session, run string, q event.Question) bool {
	return n.mayAnswerUnattended(run, q) && !n.canPut(session, q)
}

// declined is the answer of who does not want to give one.
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

// canPut says whether the UI can put a question, or do what is asked for.
func (n *connection) canPut(session string, q event.Question) bool {
	if q.Kind == event.AskTool {
		return n.api.ownsTools(session, n)
	}
	return n.capabilities().ability().CanAnswer(q)
}
