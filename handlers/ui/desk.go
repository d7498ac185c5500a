package ui

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// ask puts a question to the UI, on a goroutine that waits for the answer. A
// question that it cannot put is decided in its place if it began the run.
func (n *connection) ask(ctx context.Context, session, run string, q copilot.Question) {
	if !n.canPut(session, q) {
		n.decide(ctx, session, run, q)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.asked[q.ID] != nil { // it was attached to the session before
		return
	}
	ctx, n.asked[q.ID] = context.WithCancel(ctx)
	n.work.Go(func() {
		defer n.withdraw(q.ID)
		n.put(ctx, session, run, q)
	})
}

// withdraw gives up a request: the question is over. JSON-RPC knows no word for
// that; a reply that comes later is ignored.
func (n *connection) withdraw(question string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if withdraw := n.asked[question]; withdraw != nil {
		withdraw()
		delete(n.asked, question)
	}
}

// put asks the UI and brings its answer to the session. The first answer counts,
// whoever gives it.
func (n *connection) put(ctx context.Context, session, run string, q copilot.Question) {
	answer, err := desk{n, session, run, q}.ask(ctx)
	var refused *jsonrpc.Error
	switch {
	case ctx.Err() != nil, errors.Is(err, jsonrpc.ErrGone), errors.Is(err, jsonrpc.ErrClosed):
		return
	case errors.As(err, &refused) && refused.Code == codeDeclined:
		answer = declined(q)
	case err != nil:
		n.api.options.Log.Warn("a UI did not answer a question as it should", "session", session, "question", q.ID, "err", err)
		if !n.mayDecide(run, q) {
			return
		}
		answer = declined(q)
		answer.Reason = "The UI gave an answer that cannot be read."
	}
	n.answer(ctx, session, q, answer)
}

func (n *connection) answer(ctx context.Context, session string, q copilot.Question, a copilot.Answer) {
	s, err := n.host().Session(ctx, session)
	if err == nil {
		err = s.Answer(q.ID, a, Origin)
	}
	if err != nil && !errors.Is(err, copilot.ErrAlreadyAnswered) && !errors.Is(err, copilot.ErrQuestionNotFound) {
		n.api.options.Log.Warn("an answer of a UI does not fit its question, which stays open", "session", session, "question", q.ID, "err", err)
	}
}

// decide answers in place of a UI that cannot put a question of a run that it
// began (notes: permissions.headless). Other clients cannot any more.
func (n *connection) decide(ctx context.Context, session, run string, q copilot.Question) {
	if !n.mayDecide(run, q) {
		return
	}
	a := declined(q)
	if n.api.options.Headless == copilot.Allow && (q.Kind == copilot.AskPermission || q.Kind == copilot.AskPlan) {
		a = copilot.Answer{Approved: true}
	} else {
		a.Reason = "This UI cannot ask, and permissions.headless does not allow it."
	}
	n.answer(ctx, session, q, a)
}

// mayDecide says whether a question can be answered in place of the UI.
func (n *connection) mayDecide(run string, q copilot.Question) bool {
	return q.Kind != copilot.AskTool && n.began(run) && n.api.options.Headless != copilot.Ask
}

// decides says whether a question is answered in place of the UI.
func (n *connection) decides(session, run string, q copilot.Question) bool {
	return n.mayDecide(run, q) && !n.canPut(session, q)
}

// declined is the answer of who does not want to give one.
func declined(q copilot.Question) copilot.Answer {
	switch q.Kind {
	case copilot.AskInput:
		return copilot.Answer{Reason: "The user did not want to answer."}
	case copilot.AskTool:
		return copilot.Answer{Failed: true, Reason: "The client refused to do it."}
	case copilot.AskPermission, copilot.AskForm, copilot.AskPlan, copilot.AskSignIn:
	}
	return copilot.Answer{}
}

// canPut says whether the UI can put a question, or do what is asked for.
func (n *connection) canPut(session string, q copilot.Question) bool {
	can := n.capable()
	switch q.Kind {
	case copilot.AskPermission, copilot.AskPlan, copilot.AskSignIn:
		return can.Confirm
	case copilot.AskInput:
		return can.Prompt || can.Pick && len(q.Choices) > 0
	case copilot.AskForm:
		return can.Forms || can.Prompt
	case copilot.AskTool:
		return n.api.isOffered(session, n)
	}
	return false
}
