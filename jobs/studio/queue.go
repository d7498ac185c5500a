package studio

import (
	"context"
	"sync"
)

// Turn is a place in the queue of a [Host]. It is for one request, the first that is made with it, which gives it back.
type Turn struct {
	host   *Host
	tab    *conversationTab // nil outside of conversations
	before *Turn            // in the conversation; nil if it was waited for
	over   chan struct{}    // closed when it was given back
	works  bool             // it has a token of those at work
	once   sync.Once
}

// Turn takes a place in the queue, without waiting. Error: [ErrBusy].
func (h *Host) Turn() (*Turn, error) {
	select {
	case h.slots <- struct{}{}:
		return &Turn{host: h, over: make(chan struct{})}, nil
	default:
		return nil, ErrBusy
	}
}

// TurnIn takes one for a message in a conversation, whatever name its client gives it: messages of one are answered in the order of
// their turns. Error: [ErrBusy].
func (h *Host) TurnIn(conversation string) (*Turn, error) {
	t, err := h.Turn()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t.tab = h.tab(conversation)
	t.before, t.tab.last = t.tab.last, t
	return t, nil
}

// wait waits until the turn has come. Error: that of ctx.
func (t *Turn) wait(ctx context.Context) error {
	for p := t.before; p != nil; p = p.before { // one that has not waited to the end has others before it still
		select {
		case <-p.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.before = nil
	select {
	case t.host.running <- struct{}{}:
		t.works = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release lets others in.
func (t *Turn) release() {
	t.once.Do(func() {
		if t.works {
			<-t.host.running
		}
		<-t.host.slots
		close(t.over)
	})
}
