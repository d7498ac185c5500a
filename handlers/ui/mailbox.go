package ui

import (
	"context"
	"sync"
)

// mailbox passes functions to the goroutine of an attachment, which runs them in the order
// in which they were posted. Its zero value is empty. Posting never blocks, so a request
// that starts or cancels a run does not wait for a slow UI.
type mailbox struct {
	mu      sync.Mutex
	posted  []func(context.Context)
	waiting context.Context //nolint:containedctx // that of [mailbox.untilPosted]; nil: the next call makes one
	wake    context.CancelFunc
}

func (m *mailbox) post(f func(context.Context)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.posted = append(m.posted, f)
	m.endWait()
}

// endWait ends the context that the goroutine may wait with. The caller holds the lock.
func (m *mailbox) endWait() {
	if m.waiting != nil {
		m.wake()
		m.waiting = nil
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

// untilPosted returns a context that also ends when something is posted. The goroutine waits with it. Calls between which nothing
// is posted return the same one, to save a context for each entry of a record. All calls pass the same ctx, with which the last one
// ends.
func (m *mailbox) untilPosted(ctx context.Context) context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting, m.wake = context.WithCancel(ctx)
	}
	waiting := m.waiting
	if len(m.posted) > 0 {
		m.endWait()
	}
	return waiting
}
