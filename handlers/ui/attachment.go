package ui

import (
	"context"
	"errors"
	"io"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/journal"
)

// attachment is a session that a UI hears of. One goroutine, which begins with it,
// reads the record and sends what it finds, unless the gate is held: then somebody
// else may send, and the goroutine finds what it had read already still to be told.
type attachment struct {
	session string
	reader  *copilot.Reader
	gate    gate
	cancel  context.CancelFunc
	done    chan struct{}   // closed when nothing more is sent
	before  <-chan struct{} // closed when the attachment before sends no more; nil: there is none

	sending  chan struct{} // holds a token while something of the session is sent; guards the narrator
	narrator narrator
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
		session: s.ID(), reader: n.host().Reader(s, from.after), narrator: from,
		cancel: cancel, done: make(chan struct{}), before: n.leaving[s.ID()], sending: make(chan struct{}, 1),
	}
	a.gate.hold()
	n.attached[s.ID()] = a
	n.work.Go(func() { n.follow(ctx, a) })
	return a
}

// leave ends the attachment to a session, and returns when nothing more of it is
// sent; false if there is none. Its questions are withdrawn from this UI.
func (n *connection) leave(ctx context.Context, session string) bool {
	n.mu.Lock()
	a := n.attached[session]
	if a != nil {
		delete(n.attached, session)
		n.leaving[session] = a.done
	}
	n.mu.Unlock()
	if a == nil {
		return false
	}
	a.cancel()
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	n.withdrawAll(session)
	return true
}

// abandon lets go of an attachment that was held in vain. A new one ends if nobody
// else needs it.
func (n *connection) abandon(a *attachment, isNew bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if others := a.gate.release(); others > 0 || !isNew {
		return
	}
	a.cancel()
	if n.attached[a.session] == a {
		delete(n.attached, a.session)
		n.leaving[a.session] = a.done
	}
}

// lock gives the right to send, which unlock returns.
func (a *attachment) lock(ctx context.Context) error {
	select {
	case a.sending <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
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
func (a *attachment) precede(ctx context.Context) {
	if a.before == nil {
		return
	}
	select {
	case <-a.before:
	case <-ctx.Done():
	}
}

// follow sends what happens in a session until the UI leaves it, or the session is
// closed.
func (n *connection) follow(ctx context.Context, a *attachment) {
	defer close(a.done)
	defer n.forget(a)
	a.precede(ctx)
	for ctx.Err() == nil {
		entries, err := a.reader.Next(ctx, batch)
		var gap *journal.GapError
		switch {
		case err == nil:
			err = n.tell(ctx, a, entries)
		case errors.As(err, &gap):
			err = n.skip(ctx, a, gap)
		case errors.Is(err, io.EOF) && n.goesOn(a):
			a.gate.pass(ctx)
			continue
		}
		if err != nil {
			n.parted(ctx, a, err)
			return
		}
	}
}

// tell sends what entries are told by.
func (n *connection) tell(ctx context.Context, a *attachment, entries []journal.Entry[copilot.Event]) error {
	if err := a.lockInTurn(ctx); err != nil {
		return err
	}
	defer a.unlock()
	var list []message
	record := a.reader.Session().Record()
	for _, e := range entries {
		list = append(list, a.narrator.tell(record, e)...)
	}
	return n.send(ctx, a.session, merged(list))
}

// skip goes on behind a gap. A run whose end is in it gets one all the same.
func (n *connection) skip(ctx context.Context, a *attachment, gap *journal.GapError) error {
	if err := a.lockInTurn(ctx); err != nil {
		return err
	}
	defer a.unlock()
	lost := a.narrator.teller
	a.narrator = narrator{teller: newTeller(), after: gap.First - 1}
	n.withdrawAll(a.session)
	if lost.status == "" {
		return nil
	}
	if info := a.reader.Session().Info(); info.Run == lost.run && info.State != copilot.StateIdle && info.State != copilot.StateClosed {
		a.narrator.teller = lost // it goes on, and so do its numbers
		return nil
	}
	at := cursor{a.reader.Session().Record().Position(a.narrator.after), 0, 0}.String()
	return n.send(ctx, a.session, []message{{
		method: notifyStatus, run: lost.run, status: statusError, cursor: at,
		text: "what happened in this run is not kept any more, as this UI was too far behind",
	}})
}

// goesOn says whether a session that was closed is open again, or will be by a
// run.start that is being handled. If not, the attachment is forgotten.
func (n *connection) goesOn(a *attachment) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.gate.isHeld() || a.reader.Session().Info().State != copilot.StateClosed {
		return true
	}
	if n.attached[a.session] == a {
		delete(n.attached, a.session)
	}
	return false
}

// forget drops an attachment that has ended.
func (n *connection) forget(a *attachment) {
	a.cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.attached[a.session] == a {
		delete(n.attached, a.session)
	}
	if n.leaving[a.session] == a.done {
		delete(n.leaving, a.session)
	}
}

// parted tells that a session sends no more, if the UI did not want that.
func (n *connection) parted(ctx context.Context, a *attachment, err error) {
	n.withdrawAll(a.session)
	if ctx.Err() != nil {
		return
	}
	if !errors.Is(err, io.EOF) {
		n.api.options.Log.Debug("a UI can follow a session no more", "session", a.session, "err", err)
	}
	_ = n.peer.Notify(ctx, notifyClosed, oneSession{a.session}) // else the connection ends
}
