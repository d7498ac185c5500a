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
	defer n.attachmentEnded(a)
	_ = a.awaitPrevious(context.WithoutCancel(ctx)) // whatever becomes of this one: a third would not wait for the first
	for ctx.Err() == nil {
		entries, err := a.reader.Next(ctx, batch)
		var gap *journal.GapError
		switch {
		case err == nil:
			err = n.sendEntries(ctx, a, entries)
		case errors.As(err, &gap):
			err = n.skipGap(ctx, a, gap)
		case n.canContinue(a, err):
			a.gate.wait(ctx)
			pause(ctx, again)
			continue
		}
		if err != nil {
			n.reportDetached(ctx, a, err)
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

// sendEntries sends what entries are told by.
func (n *connection) sendEntries(ctx context.Context, a *attachment, entries []journal.Entry[event.Event]) error {
	if err := a.lockWhenFree(ctx); err != nil {
		return err
	}
	defer a.unlock()
	var list []message
	record := a.reader.Session().Record()
	for _, e := range entries {
		list = append(list, a.encoder.encode(record, e)...)
	}
	if last := entries[len(entries)-1].N; entries[0].N <= a.missedUpTo {
		list = withTextStarts(list, last < a.missedUpTo)
	}
	if err := n.send(ctx, a, merged(list)); err != nil {
		return err
	}
	return n.endRunInGap(ctx, a)
}

// skipGap goes on behind a gap. The run that went on before it may have ended in it, or
// behind it; questions may be over.
func (n *connection) skipGap(ctx context.Context, a *attachment, gap *journal.GapError) error {
	if err := a.lockWhenFree(ctx); err != nil {
		return err
	}
	defer a.unlock()
	t := a.encoder.runEncoder
	a.encoder = entryEncoder{runEncoder: t, after: gap.First - 1}
	if t.status == "" {
		return nil
	}
	a.lostRun = t.run
	asks := func(q event.Question) bool { return a.reader.Session().HasOpenQuestion(q.ID) }
	for _, q := range t.open {
		if !asks(q) {
			n.withdraw(q.ID)
		}
	}
	t.open = slices.DeleteFunc(t.open, func(q event.Question) bool { return !asks(q) })
	if t.status == statusAwaiting && !t.isAsking() {
		t.status = statusRunning
		at := cursor{a.reader.Session().Record().Position(a.encoder.after), t.begun, 0}
		if err := n.send(ctx, a, []message{{method: notifyStatus, run: t.run, status: t.status, cursor: at.String()}}); err != nil {
			return err
		}
	}
	return n.endRunInGap(ctx, a)
}

// endRunInGap tells the end of a run that was in a gap: the run is over, and all that is
// left has been told.
func (n *connection) endRunInGap(ctx context.Context, a *attachment) error {
	t, session := a.encoder.runEncoder, a.reader.Session()
	if a.lostRun == "" {
		return nil
	}
	if t.run != a.lostRun || t.status == "" {
		a.lostRun = ""
		return nil
	}
	info := session.Info()
	goesOn := info.Run == a.lostRun && info.State != copilot.StateIdle && info.State != copilot.StateClosed
	if goesOn || session.Record().Last() > a.encoder.after {
		return nil
	}
	t.out, a.lostRun = nil, ""
	t.endUnknownRun()
	at := cursor{session.Record().Position(a.encoder.after), 0, 0}
	for i := range t.out {
		t.out[i].cursor = at.String()
	}
	return n.send(ctx, a, t.out)
}

// canContinue says whether to read on though a record could not be read: the session is
// only out of memory, or a run.start is being handled that will open it again. If
// not, the attachment is taken away.
func (n *connection) canContinue(a *attachment, err error) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.gate.isHeld() || errors.Is(err, io.EOF) && a.reader.Session().Info().State != copilot.StateClosed {
		return true
	}
	n.removeAttachment(a)
	return false
}

// reportDetached tells that a session sends no more, if the UI did not want that, and is not
// attached to it again.
func (n *connection) reportDetached(ctx context.Context, a *attachment, err error) {
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
