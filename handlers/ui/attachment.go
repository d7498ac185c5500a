package ui

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
)

// attachment is a session that a UI hears of. One goroutine, which begins with it,
// reads the record and sends what it finds, unless the gate is held: then somebody
// else may send, and the goroutine finds what it had read already still to be told.
type attachment struct {
	session      string
	reader       *copilot.Reader
	gate         responseGate
	wanted       bool            // somebody has attached by it; guarded by the connection's lock
	cancel       func()          // ends it
	leaveClients func()          // says that the UI does not answer questions there any more; guarded by the connection's lock
	done         chan struct{}   // closed when nothing more is sent
	previousDone <-chan struct{} // closed when the attachment before sends no more; nil: there is none

	// withLifetime ends a context with the attachment, too.
	withLifetime func(ctx context.Context) (context.Context, context.CancelFunc)

	sending    chan struct{} // holds a token while something of the session is sent; guards what follows
	encoder    entryEncoder
	html       *htmlRenderer
	missedUpTo uint64 // up to this number the UI was away: of texts the pieces may be gone by now
	lostRun    string // a run whose end may have been in a gap, until all that is left was told
}

// holdAttachment gives the attachment of a session with its gate held, so that it does not
// end; nil if there is none.
func (n *connection) holdAttachment(session string) *attachment {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.attached[session]
	if a != nil {
		a.gate.hold()
	}
	return a
}

// attachSession attaches the UI to a session behind what is told of it, with the gate held;
// nil if it is attached already. The attachment ends with ctx.
func (n *connection) attachSession(ctx context.Context, s *copilot.Session, from entryEncoder) *attachment {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.attached[s.ID()] != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &attachment{
		session: s.ID(), reader: n.host().Reader(s, from.after), encoder: from, html: newHTMLRenderer(),
		cancel: cancel, done: make(chan struct{}), sending: make(chan struct{}, 1),
		withLifetime: func(other context.Context) (context.Context, context.CancelFunc) {
			both, end := context.WithCancel(other)
			stop := context.AfterFunc(ctx, end)
			return both, func() { stop(); end() }
		},
	}
	if last := n.detaching[a.session]; last != nil {
		last.cancel() // what it has still to say is of no interest any more
		a.previousDone = last.done
	}
	a.gate.hold()
	n.attached[a.session] = a
	a.leaveClients = n.host().AttachClient(a.session, n.can.ability())
	n.work.Go(func() { n.follow(ctx, a) })
	return a
}

// removeAttachment takes an attachment away: who attaches from now on gets another, which
// waits until this one sends no more. Called with the lock held.
func (n *connection) removeAttachment(a *attachment) {
	if n.attached[a.session] == a {
		delete(n.attached, a.session)
		n.detaching[a.session] = a
	}
}

// detachSession ends the attachment to a session, and returns when nothing more of it is
// sent; false if there is none. Its questions are withdrawn from this UI, and its
// tools are not offered there any more.
func (n *connection) detachSession(ctx context.Context, session string) bool {
	n.mu.Lock()
	a := n.attached[session]
	if a != nil {
		n.removeAttachment(a)
	}
	n.mu.Unlock()
	if a == nil {
		return false
	}
	n.api.removeToolOwner(session, n)
	a.cancel()
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	return true
}

// keepAttachment keeps an attachment that somebody has attached by.
func (n *connection) keepAttachment(a *attachment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a.wanted = true
}

// releaseAttachment releases an attachment that was held in vain. It ends if nobody else
// wants it.
func (n *connection) releaseAttachment(a *attachment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if others := a.gate.release(); others > 0 || a.wanted {
		return
	}
	n.removeAttachment(a)
	a.cancel()
}

// attachmentEnded ends what belongs to an attachment whose goroutine ends: what others send
// of it, and its questions. Only then the next one may begin.
func (n *connection) attachmentEnded(a *attachment) {
	n.mu.Lock()
	n.removeAttachment(a)
	a.leaveClients()
	n.mu.Unlock()
	a.cancel()
	a.sending <- struct{}{} // for ever: who has it notices the end
	n.withdrawAll(a.session)
	n.mu.Lock()
	if n.detaching[a.session] == a {
		delete(n.detaching, a.session)
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

// lockWhenFree is lock for the one who follows the session: when nobody holds the gate.
func (a *attachment) lockWhenFree(ctx context.Context) error {
	for {
		a.gate.wait(ctx)
		if err := a.lock(ctx); err != nil {
			return err
		}
		if !a.gate.isHeld() {
			return nil
		}
		a.unlock()
	}
}

// awaitPrevious waits until the attachment before sends no more.
func (a *attachment) awaitPrevious(ctx context.Context) error {
	if a.previousDone == nil {
		return nil
	}
	select {
	case <-a.previousDone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendState tells how the session stands, behind a response, and lets go of the gate.
func (n *connection) sendState(ctx context.Context, a *attachment, standing []message) {
	defer a.gate.release()
	ctx, cancel := a.withLifetime(ctx)
	defer cancel()
	if a.lock(ctx) == nil {
		_ = n.send(ctx, a, standing) // what fails here fails again
		a.unlock()
	}
}
