package jsonrpc

import (
	"context"
	"math"
	"sync"
)

const (
	// weight is what a message costs besides its bytes, so that a bound on bytes bounds the number, too.
	weight = 64
	// unlimited is the limit of what must not wait.
	unlimited = math.MaxInt
)

// A queue holds what is not sent yet. Its size counts what is being written, too, until that is done.
type queue struct {
	mu       sync.Mutex
	news     sync.Cond
	messages [][]byte
	size     int
	writing  int           // how much of size is being written
	left     int           // how many messages are not written, those that are being written included
	written  uint64        // how many messages are, ever
	taken    int           // how many messages are being written
	room     chan struct{} // closed when there is more room; nil if nobody waits for it
	err      error         // why nothing comes in any more
}

func newQueue() *queue {
	q := &queue{}
	q.news.L = &q.mu
	return q
}

// push puts a message in when less than limit is there.
func (q *queue) push(ctx context.Context, m []byte, limit int) error {
	for {
		room, err := q.tryPush(m, limit)
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

// tryPush puts a message in, or returns what tells that one may try again.
func (q *queue) tryPush(m []byte, limit int) (room <-chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.err != nil:
		return nil, q.err
	case q.size >= limit:
		return q.roomSignal(), nil
	}
	q.messages = append(q.messages, m)
	q.size += len(m) + weight
	q.left++
	q.news.Signal()
	return nil, nil
}

// waitBelow waits until less than limit is there.
func (q *queue) waitBelow(ctx context.Context, limit int) error {
	for {
		q.mu.Lock()
		room := q.roomSignal()
		full := q.size >= limit && q.err == nil
		q.mu.Unlock()
		if !full {
			return ctx.Err()
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flush waits until what is there now is written.
func (q *queue) flush(ctx context.Context) error {
	q.mu.Lock()
	until := q.written + uint64(q.left) //nolint:gosec // it is never negative
	q.mu.Unlock()
	for {
		q.mu.Lock()
		room, done, err := q.roomSignal(), q.written >= until, q.err
		q.mu.Unlock()
		if done {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// roomSignal returns the channel that tells of more room.
func (q *queue) roomSignal() <-chan struct{} {
	if q.room == nil {
		q.room = make(chan struct{})
	}
	return q.room
}

// wake lets everybody look again who waits for room.
func (q *queue) wake() {
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}

// take waits for messages and returns some that are to be written together, or none if none will come. What it
// returned before is written then.
func (q *queue) take() [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing > 0 {
		q.size -= q.writing
		q.left -= q.taken
		q.written += uint64(q.taken) //nolint:gosec // it is never negative
		q.writing, q.taken = 0, 0
		q.wake()
	}
	for len(q.messages) == 0 && q.err == nil {
		q.news.Wait()
	}
	n, size := 0, 0
	for n < len(q.messages) && (n == 0 || size < together) {
		size += len(q.messages[n]) + weight
		n++
	}
	taken := q.messages[:n:n]
	q.messages = q.messages[n:]
	q.writing, q.taken = size, n
	return taken
}

// close lets nothing in any more. What is there can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err = ErrClosed
	q.wake()
	q.news.Broadcast()
}

// discard is a close that throws away what is there.
func (q *queue) discard() {
	q.close()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = nil
}
