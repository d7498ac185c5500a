package ws

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/jobs/operation"
)

const (
	// aliveEvery is how long a connection may be silent; clients come back after 30 s.
	aliveEvery = 20 * time.Second
	// farewell is how long a connection stays when its operation has ended.
	farewell = 1500 * time.Millisecond
	// batch is how many messages are read at once.
	batch = 100
	// maxWaiting is how many live messages may wait for a client that is slow.
	maxWaiting = 100
	// slowWrite is how long a write takes to a client that is not reading. One that reads takes microseconds, whatever it
	// is given; that messages wait for it may then be for other reasons, which are not its own.
	slowWrite = 250 * time.Millisecond
)

// run tells a client all that it does not have, and closes when that was the end.
func (w *watch) run(ctx context.Context, conn *socket.Conn) {
	w.conn = conn
	w.slot.connected(conn)
	if w.send(w.greeting()) == nil && w.follow(ctx) {
		w.lingerBeforeClose(ctx)
	}
}

// follow tells messages until the last one, which it tells, or until the client is gone.
func (w *watch) follow(ctx context.Context) (ended bool) {
	r := w.operation.Reader(w.at)
	r.Limit, r.Idle = batch, func() time.Duration { return aliveEvery }
	frames := make([][]byte, 0, batch)
	for b, err := range r.All(ctx) {
		switch {
		case err != nil:
		case len(b.Entries) == 0:
			if w.send(connectionNotice(w.id, noticeAlive, "Alive check...")) != nil {
				return false
			}
		default:
			frames = w.selectFrames(frames[:0], b.Entries)
			err = w.send(frames...)
		}
		if err == nil {
			continue
		}
		if ctx.Err() == nil { // it cannot be read now: the client may come back
			f := failureOf(err)
			w.conn.Close(closing+f.status, f.text)
		}
		return false
	}
	return true
}

// selectFrames gives the frames of messages. For a slow client for which too many wait, it leaves out thinking, the oldest first, and
// says so.
func (w *watch) selectFrames(frames [][]byte, found []operation.Message) [][]byte {
	excess := 0
	if w.slow {
		excess = w.operation.Last() - max(w.at, w.replay) - maxWaiting
	}
	skipped := 0
	for _, m := range found {
		w.at = m.Sequence
		if excess > 0 && m.Type == operation.Thinking && m.Sequence > w.replay {
			excess--
			skipped++
			continue
		}
		if skipped > 0 {
			frames = append(frames, skipNotice(w.id, skipped))
			skipped = 0
		}
		frames = append(frames, m.Frame)
	}
	if skipped > 0 {
		frames = append(frames, skipNotice(w.id, skipped))
	}
	return frames
}

// send writes frames, and notes whether the client was slow to take them.
func (w *watch) send(frames ...[]byte) error {
	begin := time.Now()
	err := w.conn.Send(frames...)
	w.slow = time.Since(begin) > slowWrite
	return err
}

// lingerBeforeClose gives the client the time to read the end before the close.
func (w *watch) lingerBeforeClose(ctx context.Context) {
	late := time.NewTimer(farewell)
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	case <-w.slot.registry.stopping:
	}
}
