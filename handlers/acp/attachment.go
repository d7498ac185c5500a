package acp

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

const (
	frame       = 16 * time.Millisecond  // between two pieces of texts: a screen shows no more
	outputEvery = 200 * time.Millisecond // between two updates of a tool's output, which replace each other
	retryRead   = 100 * time.Millisecond // before a record is read again that has ended although its session has not
	noChange    = time.Hour              // how long a read may wait when nothing is held back
)

// attachment is a session that an editor follows. One goroutine owns it ([attachment.run]).
type attachment struct {
	conn      *connection
	id        string
	directory string
	models    []agent.Model         // to choose from
	runs      ownRuns               // of this editor
	reader    *follow.SessionReader // Session is safe for concurrent use
	encoder   *encoder              // used by the request that opens the session, then by the goroutine
	cancel    func()                // ends it; set before the goroutine starts
	started   atomic.Bool           // the goroutine runs, or will never run
	done      chan struct{}         // closed when it sends nothing more
	questions openQuestions
	chosen    atomic.Pointer[event.Mode] // of this editor; nil: none
	storing   sync.Mutex                 // held while the chosen mode is stored
	// Only the goroutine uses the fields below.
	textAt time.Time // when the last piece of a text was sent
	missed bool      // entries may never come that matter, because they were in a gap or the session was closed
}

// follow returns an attachment that reads a session from a number on, once [attachment.open] was called.
func (n *connection) follow(s *copilot.Session, after uint64) *attachment {
	i := s.Info()
	a := &attachment{
		conn: n, id: i.ID, directory: i.Directory, reader: follow.Session(n.host(), s, after), cancel: func() {}, done: make(chan struct{}),
	}
	a.encoder = newEncoder(i.Directory, n.capabilities(), a.runs.has)
	a.reader.Idle = func() time.Duration {
		if a.encoder.holdsOutput() {
			return outputEvery
		}
		return noChange
	}
	return a
}

func (a *attachment) session() *copilot.Session { return a.reader.Session() }

// open makes the attachment the editor's one and returns the settings of the session. Following starts behind the response:
// editors drop what comes before.
func (a *attachment) open(ctx context.Context, r *jsonrpc.Request) settings {
	models, err := a.conn.host().Models(ctx)
	if err != nil {
		a.conn.api.options.Log.Debug("the models are not known", "err", err)
	}
	a.models = models
	following, cancel := context.WithCancel(ctx) // which ends with the connection
	a.cancel = cancel
	context.AfterFunc(following, a.conn.host().AttachClient(a.id, answerable(a.conn.capabilities())))
	if files, ok := a.files(); ok {
		context.AfterFunc(following, a.conn.host().AttachFiles(a.id, files))
	}
	a.conn.attach(ctx, a)
	r.After(func() {
		if a.started.CompareAndSwap(false, true) {
			a.conn.work.Go(func() { a.run(ctx, following) })
		}
	})
	return a.settings(a.session().Info().Model)
}

// end ends the attachment and returns when it sends nothing more.
func (a *attachment) end(ctx context.Context) {
	a.cancel()
	if a.started.CompareAndSwap(false, true) { // the response to the request that opened it is not sent yet
		a.runs.endAll(runEnd{err: errDetached})
		close(a.done)
	}
	select {
	case <-a.done:
	case <-ctx.Done():
	}
}

// run sends what happens in the session until ctx ends, because the editor detached, or the session is closed.
func (a *attachment) run(connected, ctx context.Context) {
	defer close(a.done)
	defer a.cancel()
	defer a.runs.endAll(runEnd{err: errDetached})
	defer a.questions.withdrawUnless(connected, a.conn.peer, func(string) bool { return false })
	a.sendInitial(ctx)
	for ctx.Err() == nil {
		if err := a.step(ctx); err != nil {
			a.conn.forget(a)
			if ctx.Err() == nil && !errors.Is(err, io.EOF) {
				a.conn.api.options.Log.Warn("an editor can no longer follow its session", "session", a.id, "err", err)
			}
			return
		}
	}
}

// sendInitial sends what belongs behind the response: what the session can do, and the questions that are open.
func (a *attachment) sendInitial(ctx context.Context) {
	a.conn.work.Go(func() { _ = a.update(ctx, a.commands(ctx)) }) // asks the agent, which may take a while
	_ = a.send(ctx, a.encoder.take())                             // else the connection ends
	for _, q := range a.encoder.open {
		a.ask(ctx, q, attempt{})
	}
	a.askMissed() // the past may have a gap
	_ = a.send(ctx, a.encoder.take())
}

// askMissed encodes the open questions that nothing read so far has.
func (a *attachment) askMissed() {
	for _, q := range a.session().OpenQuestions() {
		a.encoder.ask(q)
	}
}

// step reads the record once and sends what it says.
func (a *attachment) step(ctx context.Context) error {
	follow.PauseUntil(ctx, a.textAt.Add(frame)) // what arrives meanwhile is one piece
	b, err := a.reader.Next(ctx)
	if errors.Is(err, io.EOF) && a.session().Info().State != copilot.StateClosed { // it only left memory
		follow.PauseUntil(ctx, time.Now().Add(retryRead))
		return nil
	}
	if err != nil {
		return err
	}
	if b.Gap != nil {
		a.skipGap(ctx)
	}
	for _, e := range b.Entries {
		a.encoder.encode(e)
	}
	a.encoder.flushOutput(time.Now(), len(b.Entries) == 0)
	if err := a.send(ctx, a.encoder.take()); err != nil {
		return err
	}
	return a.sendMissed(ctx)
}

// skipGap continues after a gap, in which questions may have been closed or asked, and runs ended.
func (a *attachment) skipGap(ctx context.Context) {
	isOpen := a.session().HasOpenQuestion
	a.encoder.skipGap(isOpen)
	a.questions.withdrawUnless(ctx, a.conn.peer, isOpen)
	a.missed = true
}

// sendMissed asks open questions that were in a gap, and ends runs of the editor, and calls, whose end never comes, once everything is read.
// A run that still works or waits is not lost.
func (a *attachment) sendMissed(ctx context.Context) error {
	if !a.missed {
		return nil
	}
	lost := slices.DeleteFunc(a.runs.ids(), func(id string) bool {
		_, known := a.conn.host().SessionByRun(id)
		return known
	})
	i := a.session().Info()
	if a.session().Record().Last() > a.reader.After() {
		return nil // they may be there
	}
	a.missed = false
	a.askMissed()
	a.encoder.failCalls(func(run string) bool { return run != "" && (run != i.Run || i.Outcome != "") })
	if err := a.send(ctx, a.encoder.take()); err != nil {
		return err
	}
	for _, id := range lost {
		if id == i.Run && i.Outcome != "" {
			a.runs.end(id, runEnd{outcome: i.Outcome, reason: "the reason is no longer in the session"})
		} else {
			a.runs.end(id, runEnd{err: errDetached})
		}
	}
	return nil
}

// send sends updates, asks questions and answers prompts, in this order of events.
func (a *attachment) send(ctx context.Context, list []item) error {
	for _, i := range list {
		switch {
		case i.asked != nil:
			a.ask(ctx, *i.asked, attempt{})
		case i.closed != "":
			a.questions.withdraw(ctx, a.conn.peer, i.closed)
		case i.ended != nil:
			if r := a.runs.end(i.run, *i.ended); r != nil {
				r.waitAnswered(ctx)
			}
		case i.sessionClosed:
			a.missed = true
		case i.model != "":
			if err := a.update(ctx, optionsUpdate{"config_option_update", a.settings(i.model).Options}); err != nil {
				return err
			}
		default:
			if _, isText := i.update.(chunk); isText {
				a.textAt = time.Now()
			}
			if err := a.update(ctx, i.update); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *attachment) update(ctx context.Context, update any) error {
	return a.conn.peer.Notify(ctx, "session/update", notification{a.id, update})
}

// notice informs the user, in a message of the agent if the editor shows no notices.
func (a *attachment) notice(ctx context.Context, severity, title, detail string) {
	if a.conn.capabilities().Session.Notices != nil {
		_ = a.update(ctx, noticeUpdate{"notice", severity, title, detail}) // else the connection ends
		return
	}
	_ = a.update(ctx, chunk{Kind: agentMessage, Content: textOf(title + " " + detail + "\n\n")})
}

// cancelRuns cancels the runs of the editor and reports whether there are any.
func (a *attachment) cancelRuns() bool {
	ids := a.runs.ids()
	for _, id := range ids {
		_ = a.session().Cancel(id) // it may have ended meanwhile
	}
	return len(ids) > 0
}

// replay sends the past of the session after a number, up to the position of the reader.
func (a *attachment) replay(ctx context.Context, after uint64) error {
	return a.readPast(ctx, after, func() error {
		for _, i := range a.encoder.take() {
			if i.update == nil {
				continue // questions that are still open follow the response
			}
			if err := a.update(ctx, i.update); err != nil {
				return err
			}
		}
		return nil
	})
}

// prime reads the run at work without sending it, so that what follows is understood.
func (a *attachment) prime(ctx context.Context) error {
	run := a.session().Info().Run
	if run == "" {
		return nil
	}
	after, found, err := follow.RunBegin(ctx, a.session().Record(), run)
	if err != nil || !found {
		return err
	}
	err = a.readPast(ctx, after, func() error {
		a.encoder.take()
		return nil
	})
	a.encoder.announceCalls()
	return err
}

// readPast reads from a number on up to the position of the reader, and calls read after each batch.
func (a *attachment) readPast(ctx context.Context, after uint64, read func() error) error {
	last := a.reader.After()
	r := follow.Record(a.session().Record(), after)
	a.encoder.beginPast()
	for b, err := range r.Until(ctx, last) {
		if err != nil && !errors.Is(err, io.EOF) {
			return fault.Errorf(fault.Unavailable, "the past of the session cannot be read: %w", err)
		}
		for _, e := range b.Entries {
			a.encoder.encode(e)
		}
		if err := read(); err != nil {
			return err
		}
	}
	a.encoder.endPast()
	return read()
}
