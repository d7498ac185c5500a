package jsonrpc

import (
	"context"
	"math"
	"sync"
)

const (
	// messageCost is the cost of a message in addition to its bytes, so that a bound on bytes also bounds their number.
	messageCost = 64
	// unlimited is the limit for messages that must not wait.
	unlimited = math.MaxInt
)

// queue holds unsent messages. Its size includes those being written. A goroutine writes them while there are any, so that an idle
// connection needs none.
type queue struct {
	mu       sync.Mutex
	write    func() // takes and writes messages until there are none; nil before [queue.begin]
	writer   writerState
	ended    chan struct{} // closed when no more messages will be written
	messages [][]byte
	size     int
	writing  int           // part of size that is being written
	left     int           // number of unwritten messages, including those being written
	written  uint64        // number of written messages, ever
	inFlight int           // number of messages being written
	room     chan struct{} // closed when there is more room; nil if nothing waits for it
	err      error         // why no more messages are accepted
}

// writerState says whether a goroutine writes the messages of a queue.
type writerState int

const (
	writerAbsent writerState = iota // none may write yet
	writerIdle                      // the next message starts one
	writerActive
	writerEnded // none writes any more
)

func newQueue() *queue { return &queue{ended: make(chan struct{})} }

// begin lets messages be written: a goroutine calls write when there are some.
func (q *queue) begin(write func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.write, q.writer = write, writerIdle
	q.startWriter()
}

// startWriter starts the goroutine that writes, if there is something to write and none does. The caller holds the lock.
func (q *queue) startWriter() {
	if q.writer == writerIdle && len(q.messages) > 0 {
		q.writer = writerActive
		go q.write()
	}
}

// endWriter says that no more messages will be written. The caller holds the lock.
func (q *queue) endWriter() {
	if q.writer != writerEnded {
		q.writer = writerEnded
		close(q.ended)
	}
}

// push adds messages one after another, each when less than limit is there.
func push[M ~[]byte](ctx context.Context, q *queue, limit int, messages ...M) error {
	return q.await(ctx, func() (done bool, err error) {
		if q.err != nil {
			return false, q.err
		}
		n := 0
		for ; n < len(messages) && q.size < limit; n++ {
			q.size += len(messages[n]) + messageCost
			q.messages = append(q.messages, messages[n])
		}
		messages = messages[n:]
		q.left += n
		q.startWriter()
		return len(messages) == 0, nil
	})
}

// waitBelow waits until the size is below limit.
func (q *queue) waitBelow(ctx context.Context, limit int) error {
	return q.await(ctx, func() (done bool, err error) { return q.size < limit || q.err != nil, ctx.Err() })
}

// flush waits until the messages queued so far are written.
func (q *queue) flush(ctx context.Context) error {
	q.mu.Lock()
	until := q.written + uint64(q.left) //nolint:gosec // never negative
	q.mu.Unlock()
	return q.await(ctx, func() (done bool, err error) {
		if q.written >= until {
			return true, nil
		}
		return false, q.err
	})
}

// await calls check, which holds the lock, until it is done or fails, and again whenever there is more room.
func (q *queue) await(ctx context.Context, check func() (done bool, err error)) error {
	for {
		room, err := q.try(check)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try calls check once. If it is not done, room is closed when there is more.
func (q *queue) try(check func() (done bool, err error)) (room <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if done, err := check(); done || err != nil {
		return nil, err
	}
	return q.roomSignal(), nil
}

// roomSignal returns a channel that is closed when there is more room.
func (q *queue) roomSignal() <-chan struct{} {
	if q.room == nil {
		q.room = make(chan struct{})
	}
	return q.room
}

// wake wakes everything that waits for room.
func (q *queue) wake() {
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

// take returns some messages to write together, or none if the goroutine that writes is to end. Messages that it returned before
// count as written.
func (q *queue) take() [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.countWritten()
	if len(q.messages) == 0 {
		q.messages = nil // an idle connection keeps no written messages
		q.writer = writerIdle
		if q.err != nil {
			q.endWriter()
		}
		return nil
	}
	n, size := 0, 0
	for n < len(q.messages) && (n == 0 || size < writeSize) {
		size += len(q.messages[n]) + messageCost
		n++
	}
	batch := q.messages[:n:n]
	q.messages = q.messages[n:]
	q.writing, q.inFlight = size, n
	return batch
}

// countWritten counts the messages that were being written as written.
func (q *queue) countWritten() {
	if q.writing == 0 {
		return
	}
	q.size -= q.writing
	q.left -= q.inFlight
	q.written += uint64(q.inFlight) //nolint:gosec // never negative
	q.writing, q.inFlight = 0, 0
	q.wake()
}

// close rejects further messages. Queued ones are still written.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = ErrClosed
	q.wake()
	if q.writer == writerIdle {
		q.endWriter()
	}
}

// fail says that writing has failed.
func (q *queue) fail() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.endWriter()
}

// discard closes the queue and drops the queued messages.
func (q *queue) discard() {
	q.close()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = nil
}
