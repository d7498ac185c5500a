package ui

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
)

// retryRead is the pause before a record is read again that has ended although its session
// has not.
const retryRead = 100 * time.Millisecond

// run is the goroutine of the attachment. It ends when the UI detaches, when no request has
// attached by it, and when the session is closed.
func (a *attachment) run(ctx context.Context) {
	defer a.end()
	if a.previousDone != nil {
		<-a.previousDone // even if this one was canceled: the next one waits for this one only
	}
	for ctx.Err() == nil {
		var err error
		switch {
		case a.mailbox.handle(ctx):
		case a.holds > 0:
			a.wait(ctx)
		case !a.wanted:
			if a.conn.removeIfIdle(a) {
				return
			}
		case a.unsent == nil:
			err = a.read(ctx)
		default:
			err = a.sendBatch(ctx)
		}
		if err != nil {
			a.reportDetached(ctx, err)
			return
		}
	}
}

// frame is the least time between two deltas for a UI that accepts changes of HTML, or wants it so. A screen shows no more, and
// rendering a long block for each token would keep both ends busy with HTML that nobody sees. Deltas that arrive meanwhile are merged.
const frame = 16 * time.Millisecond

// wait waits until something is posted.
func (a *attachment) wait(ctx context.Context) {
	<-a.mailbox.untilPosted(ctx).Done()
}

// read waits for what the record says next, or until something is posted. What it reads is sent
// only after the mailbox has been looked at: a hold may have been posted before the entries.
// An error ends the attachment.
func (a *attachment) read(ctx context.Context) error {
	waiting := a.mailbox.untilPosted(ctx)
	follow.PauseUntil(waiting, a.deltaAt.Add(frame))
	b, err := a.reader.Next(waiting)
	switch {
	case err == nil:
		a.unsent = &b
	case waiting.Err() != nil:
	case errors.Is(err, io.EOF) && a.reader.Session().Info().State != copilot.StateClosed: // it only left memory
		follow.PauseUntil(waiting, time.Now().Add(retryRead))
	case a.conn.removeIfIdle(a):
		return err
	}
	return nil //nolint:nilerr // the attachment looks at what was posted
}

// sendBatch sends what was read.
func (a *attachment) sendBatch(ctx context.Context) error {
	b := a.unsent
	a.unsent = nil
	switch {
	case b.Gap == nil:
	case !b.Gap.Stale:
		return a.skipGap(ctx, b.Gap)
	case a.conn.removeIfIdle(a):
		return errReplaced
	default: // a request comes first
		a.unsent = b
		return nil
	}
	lists := &a.conn.api.lists
	list := lists.get()
	defer lists.put(list)
	record := a.reader.Session().Record()
	for _, e := range b.Entries {
		*list = append(*list, a.encoder.encode(record, e)...)
	}
	messages := *list
	if last := b.Entries[len(b.Entries)-1].N; b.Entries[0].N <= a.missedUpTo {
		messages = withTextStarts(messages, last < a.missedUpTo)
	}
	if err := a.send(ctx, merged(messages)); err != nil {
		return err
	}
	return a.endRunInGap(ctx)
}

// skipGap continues after a gap. The run before it may have ended in the gap or after it, and
// questions may be closed.
func (a *attachment) skipGap(ctx context.Context, gap *journal.GapError) error {
	enc := a.encoder.runEncoder
	a.encoder = entryEncoder{runEncoder: enc, after: gap.First - 1}
	if enc.status == "" {
		return a.askMissed(ctx)
	}
	a.lostRun = enc.run
	session := a.reader.Session()
	enc.open = slices.DeleteFunc(enc.open, func(q event.Question) bool {
		if session.HasOpenQuestion(q.ID) {
			return false
		}
		a.conn.withdraw(q.ID)
		return true
	})
	if enc.status == statusAwaiting && !enc.isAsking() {
		enc.status = statusRunning
		at := cursor{session.Record().Position(a.encoder.after), enc.begun, 0}
		if err := a.send(ctx, []message{{method: notifyStatus, run: enc.run, status: enc.status, cursor: at}}); err != nil {
			return err
		}
	}
	if err := a.askMissed(ctx); err != nil {
		return err
	}
	return a.endRunInGap(ctx)
}

// askMissed asks the open questions that were asked in a gap, as if they followed it.
func (a *attachment) askMissed(ctx context.Context) error {
	session := a.reader.Session()
	for _, q := range session.OpenQuestions() {
		asked := event.Event{Run: session.Info().Run, Time: time.Now(), Body: event.QuestionAsked{Question: q}}
		if err := a.send(ctx, a.encoder.encode(session.Record(), follow.Entry{N: a.encoder.after, Value: asked})); err != nil {
			return err
		}
	}
	return nil
}

// endRunInGap sends the end of a run that was in a gap, once the run is over and everything
// left of it is sent.
func (a *attachment) endRunInGap(ctx context.Context) error {
	enc, session := a.encoder.runEncoder, a.reader.Session()
	if a.lostRun == "" {
		return nil
	}
	if enc.run != a.lostRun || enc.status == "" {
		a.lostRun = ""
		return nil
	}
	info := session.Info()
	goesOn := info.Run == a.lostRun && info.State != copilot.StateIdle && info.State != copilot.StateClosed
	if goesOn || session.Record().Last() > a.encoder.after {
		return nil
	}
	enc.out, a.lostRun = nil, ""
	enc.endUnknownRun()
	at := cursor{session.Record().Position(a.encoder.after), 0, 0}
	for i := range enc.out {
		enc.out[i].cursor = at
	}
	return a.send(ctx, enc.out)
}

// errReplaced ends an attachment whose UI has received what is not part of the record: another process had taken the session over.
var errReplaced = errors.New("the record has lost what the UI received last")

// reportDetached tells the UI that nothing more comes of the session, or that it must attach again, unless the UI detached
// itself or has attached again.
func (a *attachment) reportDetached(ctx context.Context, err error) {
	n := a.conn
	n.mu.Lock()
	isBack := n.attached[a.session] != nil && n.attached[a.session] != a
	n.mu.Unlock()
	if ctx.Err() != nil || isBack {
		return
	}
	if !errors.Is(err, io.EOF) {
		n.api.options.Log.Debug("UI cannot follow session", "session", a.session, "err", err)
	}
	method := notifyClosed
	if errors.Is(err, errReplaced) {
		method = notifyReset
	}
	_ = n.peer.Notify(ctx, method, oneSession{a.session}) // else the connection ends
}

// send sends messages that the UI takes, and asks the questions among them.
func (a *attachment) send(ctx context.Context, list []message) error {
	for _, m := range list {
		var err error
		switch {
		case m.asked != nil || m.answered != "":
			err = a.sendQuestion(ctx, m)
		case m.key != nil && a.conn.answersUnattended(a.session, m.run, *m.key): // the run does not wait
		case a.conn.accepts(m):
			err = a.add(ctx, m)
		}
		if err == nil && m.method == notifyStatus {
			err = a.sendStatus(ctx, m)
		}
		if err != nil {
			return err
		}
	}
	return a.flush(ctx)
}

// sendQuestion asks or withdraws a question, behind what was added.
func (a *attachment) sendQuestion(ctx context.Context, m message) error {
	if err := a.flush(ctx); err != nil {
		return err
	}
	if m.asked != nil {
		a.conn.ask(ctx, questionRelay{connection: a.conn, session: a.session, run: m.run, question: *m.asked})
	} else {
		a.conn.withdraw(m.answered)
	}
	return nil
}

// sendStatus sends what was added, which ends with the status of a run, and records the status.
func (a *attachment) sendStatus(ctx context.Context, m message) error {
	if err := a.flush(ctx); err != nil {
		return err
	}
	if a.conn.noteStatus(m) {
		a.conn.api.setToolOwner(a.session, a.conn)
	}
	return nil
}
