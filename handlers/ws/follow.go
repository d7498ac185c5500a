package ws

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/jobs/operation"
)

const (
	// aliveInterval is the longest silence of a connection. Clients reconnect after 30 s without a message.
	aliveInterval = 20 * time.Second
	// closeDelay is the time between the end of an operation and the close of its connections.
	closeDelay = 1500 * time.Millisecond
	// batchSize is how many messages are read at once.
	batchSize = 100
	// maxWaiting is how many live messages may wait for a slow client.
	maxWaiting = 100
	// slowWrite is how long a write must take for the client to count as slow. Writes to a client that reads take microseconds,
	// whatever their size; if messages wait for it, the cause is elsewhere.
	slowWrite = 250 * time.Millisecond
)

// run sends a client all messages that it lacks, and returns after the operation has ended or the client is gone.
func (w *watch) run(ctx context.Context, conn *socket.Conn) {
	w.conn = conn
	w.slot.connected(conn)
	if w.send(w.greeting()) == nil && w.follow(ctx) {
		w.lingerBeforeClose(ctx)
	}
}

// follow sends messages up to and including the last one. It reports whether it sent that one.
func (w *watch) follow(ctx context.Context) (ended bool) {
	r := w.operation.Reader(w.at)
	r.Limit, r.Idle = batchSize, func() time.Duration { return aliveInterval }
	frames := make([][]byte, 0, batchSize)
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
		if ctx.Err() == nil { // the record cannot be read now; the client may reconnect
			f := failureOf(err)
			w.conn.Close(closing+f.status, f.text)
		}
		return false
	}
	return true
}

// selectFrames returns the frames of messages. If too many wait for a slow client, it skips the oldest messages of thinking and
// adds a notice.
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
		w.share(m.Frame)
		frames = append(frames, m.Frame)
	}
	if skipped > 0 {
		frames = append(frames, skipNotice(w.id, skipped))
	}
	return frames
}

// send writes frames and records whether the client was slow.
func (w *watch) send(frames ...[]byte) error {
	begin := time.Now()
	err := w.conn.Send(frames...)
	w.slow = time.Since(begin) > slowWrite
	return err
}

// lingerBeforeClose gives the client time to read the last message.
func (w *watch) lingerBeforeClose(ctx context.Context) {
	timer := time.NewTimer(closeDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-w.slot.registry.stopping:
	}
}
