package ui

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
)

// again is when a record is looked at again that has ended, though its session has not.
const again = 100 * time.Millisecond

// follow sends what happens in a session until the UI leaves it, or the session is
// closed.
func (n *connection) follow(ctx context.Context, a *attachment) {
	defer n.forget(a)
	_ = a.precede(context.WithoutCancel(ctx)) // whatever becomes of this one: a third would not wait for the first
	for ctx.Err() == nil {
		entries, err := a.reader.Next(ctx, batch)
		var gap *journal.GapError
		switch {
		case err == nil:
			err = n.tell(ctx, a, entries)
		case errors.As(err, &gap):
			err = n.skip(ctx, a, gap)
		case n.goesOn(a, err):
			a.gate.pass(ctx)
			pause(ctx, again)
			continue
		}
		if err != nil {
			n.parted(ctx, a, err)
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// tell sends what entries are told by.
func (n *connection) tell(ctx context.Context, a *attachment, entries []journal.Entry[event.Event]) error {
	if err := a.lockInTurn(ctx); err != nil {
		return err
	}
	defer a.unlock()
	var list []message
	record := a.reader.Session().Record()
	for _, e := range entries {
		list = append(list, a.narrator.tell(record, e)...)
	}
	if last := entries[len(entries)-1].N; entries[0].N <= a.missed {
		list = withBeginnings(list, last < a.missed)
	}
	if err := n.send(ctx, a, merged(list)); err != nil {
		return err
	}
	return n.endLost(ctx, a)
}

// skip goes on behind a gap. The run that went on before it may have ended in it, or
// behind it; questions may be over.
func (n *connection) skip(ctx context.Context, a *attachment, gap *journal.GapError) error {
	if err := a.lockInTurn(ctx); err != nil {
		return err
	}
	defer a.unlock()
	t := a.narrator.teller
	a.narrator = narrator{teller: t, after: gap.First - 1}
	if t.status == "" {
		return nil
	}
	a.lost = t.run
	asks := func(q event.Question) bool { return a.reader.Session().Asks(q.ID) }
	for _, q := range t.open {
		if !asks(q) {
			n.withdraw(q.ID)
		}
	}
	t.open = slices.DeleteFunc(t.open, func(q event.Question) bool { return !asks(q) })
	if t.status == statusAwaiting && !t.isAsking() {
		t.status = statusRunning
		at := cursor{a.reader.Session().Record().Position(a.narrator.after), t.begun, 0}
		if err := n.send(ctx, a, []message{{method: notifyStatus, run: t.run, status: t.status, cursor: at.String()}}); err != nil {
			return err
		}
	}
	return n.endLost(ctx, a)
}

// endLost tells the end of a run that was in a gap: the run is over, and all that is
// left has been told.
func (n *connection) endLost(ctx context.Context, a *attachment) error {
	t, session := a.narrator.teller, a.reader.Session()
	if a.lost == "" {
		return nil
	}
	if t.run != a.lost || t.status == "" {
		a.lost = ""
		return nil
	}
	info := session.Info()
	goesOn := info.Run == a.lost && info.State != copilot.StateIdle && info.State != copilot.StateClosed
	if goesOn || session.Record().Last() > a.narrator.after {
		return nil
	}
	t.out, a.lost = nil, ""
	t.endUnseen()
	at := cursor{session.Record().Position(a.narrator.after), 0, 0}
	for i := range t.out {
		t.out[i].cursor = at.String()
	}
	return n.send(ctx, a, t.out)
}

// goesOn says whether to read on though a record could not be read: the session is
// only out of memory, or a run.start is being handled that will open it again. If
// not, the attachment is taken away.
func (n *connection) goesOn(a *attachment, err error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.gate.isHeld() || errors.Is(err, io.EOF) && a.reader.Session().Info().State != copilot.StateClosed {
		return true
	}
	n.part(a)
	return false
}

// parted tells that a session sends no more, if the UI did not want that, and is not
// attached to it again.
func (n *connection) parted(ctx context.Context, a *attachment, err error) {
	n.mu.Lock()
	isBack := n.attached[a.session] != nil && n.attached[a.session] != a
	n.mu.Unlock()
	if ctx.Err() != nil || isBack {
		return
	}
	if !errors.Is(err, io.EOF) {
		n.api.options.Log.Debug("a UI can follow a session no more", "session", a.session, "err", err)
	}
	_ = n.peer.Notify(ctx, notifyClosed, oneSession{a.session}) // else the connection ends
}
