package ui

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// attachment is a session that a UI follows. One goroutine owns it ([attachment.run]): it
// reads the record, sends what the UI takes, and runs what requests post to its mailbox. So
// everything about the session goes out in one order, and its state needs no lock.
//
// A request that starts or cancels a run, or sends the past, holds the attachment until its
// response is out: the goroutine then sends nothing from the record. A hold takes effect
// before the next entry is sent, so the request need not wait for the goroutine.
type attachment struct {
	conn         *connection
	session      string
	mailbox      mailbox
	reader       *follow.SessionReader // Session is safe for concurrent use
	cancel       func()                // ends it
	done         chan struct{}         // closed when it sends nothing more
	previousDone <-chan struct{}       // closed when the attachment before sends nothing more; nil: there is none
	leaveClients func()                // withdraws the UI from those that answer questions; guarded by the connection's lock

	// Only the goroutine uses the fields below.
	holds      int
	wanted     bool // a request has attached by it: it outlives its holds
	unsent     *follow.Batch[follow.Entry]
	encoder    entryEncoder
	cache      *deltaCache
	pending    []jsonrpc.Notification // added, but not sent yet
	html       *htmlRenderer
	deltaAt    time.Time // when the last delta was sent to a UI that gets one a frame
	missedUpTo uint64    // the UI was away up to this number: pieces of texts before it may be dropped
	lostRun    string    // a run whose end may be in a gap, until everything left is sent
}

// errDetached is the error of a request whose attachment ends before all is sent.
var errDetached = fault.Errorf(fault.Busy, "the UI detached from the session before all of it was sent; attach again")

// do runs f on the goroutine of the attachment and waits for it.
func (a *attachment) do(ctx context.Context, f func(context.Context) error) error {
	err, ran := error(nil), make(chan struct{})
	a.mailbox.post(func(ctx context.Context) {
		defer close(ran)
		err = f(ctx)
	})
	select {
	case <-ran:
	case <-a.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-ran: // also as the last that the goroutine does
		if ctx.Err() == nil && errors.Is(err, context.Canceled) {
			return errDetached
		}
		return err
	default:
		return errDetached
	}
}

// release ends a hold after the response to its request, and sends the state of the run, if
// any. The attachment stays.
func (a *attachment) release(state []message) {
	a.mailbox.post(func(ctx context.Context) {
		_ = a.send(ctx, state) // what fails here fails again
		a.holds--
		a.wanted = true
	})
}

// releaseUnused ends a hold of a request that did not attach. The attachment ends if no other
// request has attached by it.
func (a *attachment) releaseUnused() {
	a.mailbox.post(func(context.Context) { a.holds-- })
}

// holdAttachment returns the attachment to a session with a hold on it; nil if there is none.
func (n *connection) holdAttachment(session string) *attachment {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.attached[session]
	if a != nil {
		a.mailbox.post(func(context.Context) { a.holds++ })
	}
	return a
}

// attachSession attaches the UI to a session, with a hold, where the encoder stands; nil if it
// is attached already. The attachment ends with ctx.
func (n *connection) attachSession(ctx context.Context, s *copilot.Session, from entryEncoder) *attachment {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.attached[s.ID()] != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &attachment{
		conn: n, session: s.ID(), reader: follow.Session(n.host(), s, from.after), encoder: from, html: newHTMLRenderer(),
		cancel: cancel, done: make(chan struct{}), holds: 1,
	}
	a.reader.Limit = batch
	if last := n.detaching[a.session]; last != nil {
		last.cancel() // what it has not sent yet no longer matters
		a.previousDone = last.done
	}
	n.attached[a.session] = a
	a.leaveClients = n.host().AttachClient(a.session, n.can.ability())
	cache, release := n.api.deltas.Acquire(a.session)
	a.cache = cache
	n.work.Go(func() {
		defer release()
		a.run(ctx)
	})
	return a
}

// removeAttachment removes an attachment: the next request gets another, which waits until
// this one sends nothing more. The caller holds the lock.
func (n *connection) removeAttachment(a *attachment) {
	if n.attached[a.session] == a {
		delete(n.attached, a.session)
		n.detaching[a.session] = a
	}
}

// removeIfIdle removes an attachment unless a request has posted something to it. Requests
// find attachments under the same lock, so none is lost.
func (n *connection) removeIfIdle(a *attachment) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !a.mailbox.isEmpty() {
		return false
	}
	n.removeAttachment(a)
	return true
}

// detachSession ends the attachment to a session and returns when it sends nothing more; false
// if there is none. Its questions are withdrawn from this UI, and so are its tools.
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

// end releases what belongs to the attachment. Only then the next one may start.
func (a *attachment) end() {
	n := a.conn
	n.mu.Lock()
	n.removeAttachment(a)
	a.leaveClients()
	n.mu.Unlock()
	a.cancel()
	n.withdrawAll(a.session)
	n.mu.Lock()
	if n.detaching[a.session] == a {
		delete(n.detaching, a.session)
	}
	n.mu.Unlock()
	close(a.done)
}
