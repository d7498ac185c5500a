package ui

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
)

// attachment is a session that a UI hears of. One goroutine, which begins with it,
// reads the record and sends what it finds, unless the gate is held: then somebody
// else may send, and the goroutine finds what it had read already still to be told.
type attachment struct {
	session string
	reader  *copilot.Reader
	gate    gate
	wanted  bool            // somebody has attached by it; guarded by the connection's lock
	cancel  func()          // ends it
	absent  func()          // says that the UI does not answer questions there any more; guarded by the connection's lock
	done    chan struct{}   // closed when nothing more is sent
	before  <-chan struct{} // closed when the attachment before sends no more; nil: there is none

	// within ends a context with the attachment, too.
	within func(ctx context.Context) (context.Context, context.CancelFunc)

	sending  chan struct{} // holds a token while something of the session is sent; guards what follows
	narrator narrator
	dresser  *dresser
	missed   uint64 // up to this number the UI was away: of texts the pieces may be gone by now
	lost     string // a run whose end may have been in a gap, until all that is left was told
}

// hold gives the attachment of a session with its gate held, so that it does not
// end; nil if there is none.
func (n *connection) hold(session string) *attachment {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.attached[session]
	if a != nil {
		a.gate.hold()
	}
	return a
}

// join attaches the UI to a session behind what is told of it, with the gate held;
// nil if it is attached already. The attachment ends with ctx.
func (n *connection) join(ctx context.Context, s *copilot.Session, from narrator) *attachment {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.attached[s.ID()] != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &attachment{
		session: s.ID(), reader: n.host().Reader(s, from.after), narrator: from, dresser: newDresser(),
		cancel: cancel, done: make(chan struct{}), sending: make(chan struct{}, 1),
		within: func(other context.Context) (context.Context, context.CancelFunc) {
			both, end := context.WithCancel(other)
			stop := context.AfterFunc(ctx, end)
			return both, func() { stop(); end() }
		},
	}
	if last := n.leaving[a.session]; last != nil {
		last.cancel() // what it has still to say is of no interest any more
		a.before = last.done
	}
	a.gate.hold()
	n.attached[a.session] = a
	a.absent = n.host().Attend(a.session, n.can.ability())
	n.work.Go(func() { n.follow(ctx, a) })
	return a
}

// part takes an attachment away: who attaches from now on gets another, which
// waits until this one sends no more. Called with the lock held.
func (n *connection) part(a *attachment) {
	if n.attached[a.session] == a {
		delete(n.attached, a.session)
		n.leaving[a.session] = a
	}
}

// leave ends the attachment to a session, and returns when nothing more of it is
// sent; false if there is none. Its questions are withdrawn from this UI, and its
// tools are not offered there any more.
func (n *connection) leave(ctx context.Context, session string) bool {
	n.mu.Lock()
	a := n.attached[session]
	if a != nil {
		n.part(a)
	}
	n.mu.Unlock()
	if a == nil {
		return false
	}
	n.api.retract(session, n)
	a.cancel()
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	return true
}

// want keeps an attachment that somebody has attached by.
func (n *connection) want(a *attachment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a.wanted = true
}

// abandon releases an attachment that was held in vain. It ends if nobody else
// wants it.
func (n *connection) abandon(a *attachment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if others := a.gate.release(); others > 0 || a.wanted {
		return
	}
	n.part(a)
	a.cancel()
}

// forget ends what belongs to an attachment whose goroutine ends: what others send
// of it, and its questions. Only then the next one may begin.
func (n *connection) forget(a *attachment) {
	n.mu.Lock()
	n.part(a)
	a.absent()
	n.mu.Unlock()
	a.cancel()
	a.sending <- struct{}{} // for ever: who has it notices the end
	n.withdrawAll(a.session)
	n.mu.Lock()
	if n.leaving[a.session] == a {
		delete(n.leaving, a.session)
	}
	n.mu.Unlock()
	close(a.done)
}

// lock gives the right to send, which unlock returns.
func (a *attachment) lock(ctx context.Context) error {
	select {
	case a.sending <- struct{}{}:
		if ctx.Err() == nil {
			return nil
		}
		a.unlock()
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (a *attachment) unlock() { <-a.sending }

// lockInTurn is lock for the one who follows the session: when nobody holds the gate.
func (a *attachment) lockInTurn(ctx context.Context) error {
	for {
		a.gate.pass(ctx)
		if err := a.lock(ctx); err != nil {
			return err
		}
		if !a.gate.isHeld() {
			return nil
		}
		a.unlock()
	}
}

// precede waits until the attachment before sends no more.
func (a *attachment) precede(ctx context.Context) error {
	if a.before == nil {
		return nil
	}
	select {
	case <-a.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stand tells how the session stands, behind a response, and lets go of the gate.
func (n *connection) stand(ctx context.Context, a *attachment, standing []message) {
	defer a.gate.release()
	ctx, cancel := a.within(ctx)
	defer cancel()
	if a.lock(ctx) == nil {
		_ = n.send(ctx, a, standing) // what fails here fails again
		a.unlock()
	}
}
