package ui

import (
	"context"
	"sync"
)

// mailbox passes functions to the goroutine of an attachment, which runs them in the order
// in which they were posted. Its zero value is empty. Posting never blocks, so a request
// that starts or cancels a run does not wait for a slow UI.
type mailbox struct {
	mu     sync.Mutex
	posted []func(context.Context)
	wake   context.CancelFunc // ends the wait of the goroutine; nil while it does not wait
}

func (m *mailbox) post(f func(context.Context)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.posted = append(m.posted, f)
	if m.wake != nil {
		m.wake()
	}
}

// handle runs everything posted, and reports whether there was anything.
func (m *mailbox) handle(ctx context.Context) bool {
	m.mu.Lock()
	posted := m.posted
	m.posted = nil
	m.mu.Unlock()
	for _, f := range posted {
		f(ctx)
	}
	return len(posted) > 0
}

func (m *mailbox) isEmpty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.posted) == 0
}

// untilPosted returns a context that also ends when something is posted. The goroutine waits
// with it and then calls stop.
func (m *mailbox) untilPosted(ctx context.Context) (waiting context.Context, stop func()) {
	waiting, cancel := context.WithCancel(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wake = cancel
	if len(m.posted) > 0 {
		cancel()
	}
	return waiting, func() {
		m.mu.Lock()
		m.wake = nil
		m.mu.Unlock()
		cancel()
	}
}
