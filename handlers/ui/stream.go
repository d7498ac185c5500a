package ui

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/journal"
)

// stream is a session that a UI is attached to: one goroutine, which reads the
// record and sends what it finds.
type stream struct {
	narrator
	session string
	reader  *copilot.Reader
	gate    gate
	cancel  context.CancelFunc
	done    chan struct{} // closed when nothing more is sent
}

// gate holds the events of a run back until the response to its run.start is out.
// It never makes the one wait who closes it.
type gate struct {
	mu    sync.Mutex
	holds int
	free  chan struct{} // closed when nobody holds it
}

func (g *gate) hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds++; g.holds == 1 {
		g.free = make(chan struct{})
	}
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds--; g.holds == 0 {
		close(g.free)
	}
}

func (g *gate) isHeld() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holds > 0
}

// pass waits until nobody holds the gate, or ctx ends. What was read before it
// was held may pass: it cannot be of a run that was begun behind it.
func (g *gate) pass(ctx context.Context) {
	g.mu.Lock()
	holds, free := g.holds, g.free
	g.mu.Unlock()
	if holds == 0 {
		return
	}
	select {
	case <-free:
	case <-ctx.Done():
	}
}

// newStream is the stream of a session behind what is told of it. Its context
// ends when the connection leaves the session.
func (n *connection) newStream(ctx context.Context, s *copilot.Session, from narrator) (context.Context, *stream) {
	ctx, cancel := context.WithCancel(ctx)
	return ctx, &stream{
		narrator: from, session: s.ID(), reader: n.api.options.Host.Reader(s, from.after),
		cancel: cancel, done: make(chan struct{}),
	}
}

// join makes a stream that of its session; false if there is one already.
func (n *connection) join(st *stream) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.streams[st.session] != nil {
		return false
	}
	n.streams[st.session] = st
	return true
}

// held gives the stream of a session with its gate held, so that it does not end;
// nil if there is none.
func (n *connection) held(session string) *stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	st := n.streams[session]
	if st != nil {
		st.gate.hold()
	}
	return st
}

// leave ends the stream of a session, and returns when nothing more of it is sent;
// false if there is none.
func (n *connection) leave(ctx context.Context, session string) bool {
	n.mu.Lock()
	st := n.streams[session]
	n.mu.Unlock()
	if st == nil {
		return false
	}
	st.cancel()
	select {
	case <-st.done:
	case <-ctx.Done():
	}
	return true
}

// left forgets a stream that has ended.
func (n *connection) left(st *stream) {
	st.cancel()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.streams[st.session] == st {
		delete(n.streams, st.session)
	}
}

// follow sends what happens in a session until the connection leaves it, or the
// session is closed.
func (n *connection) follow(ctx context.Context, st *stream) {
	defer close(st.done)
	defer n.left(st)
	for ctx.Err() == nil {
		entries, err := st.reader.Next(ctx, batch)
		st.gate.pass(ctx)
		var gap *journal.GapError
		switch {
		case err == nil:
			err = n.send(ctx, st.session, st.messages(entries))
		case errors.As(err, &gap):
			st.narrator = narrator{teller: newTeller(), after: gap.First - 1}
			continue
		case errors.Is(err, io.EOF) && n.goesOn(st):
			continue
		}
		if err != nil {
			n.parted(ctx, st, err)
			return
		}
	}
}

// goesOn says whether a session that was closed is open again, or will be by a
// run.start that is being handled. If not, its stream is forgotten.
func (n *connection) goesOn(st *stream) bool {
	if st.reader.Session().Info().State != copilot.StateClosed {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if st.gate.isHeld() {
		return true
	}
	if n.streams[st.session] == st {
		delete(n.streams, st.session)
	}
	return false
}

func (st *stream) messages(entries []journal.Entry[copilot.Event]) []message {
	var list []message
	record := st.reader.Session().Record()
	for _, e := range entries {
		list = append(list, st.tell(record, e)...)
	}
	return merged(list)
}

// parted tells that a session sends no more, if the UI did not want that.
func (n *connection) parted(ctx context.Context, st *stream, err error) {
	if ctx.Err() != nil {
		return
	}
	if !errors.Is(err, io.EOF) {
		n.api.options.Log.Debug("a UI can follow a session no more", "session", st.session, "err", err)
	}
	_ = n.peer.Notify(ctx, notifyClosed, oneSession{st.session}) // else the connection ends
}
