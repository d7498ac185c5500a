package ui

import (
	"context"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

// maxPending is how many notifications are sent together at most.
const maxPending = 64

// add adds a notification, in the form that the UI takes, to those that flush sends.
func (a *attachment) add(ctx context.Context, m message) error {
	encoded, err := a.encode(a.conn.encodeFor(a.html, m))
	if err != nil {
		return err
	}
	if _, ok := m.event.(delta); ok && a.conn.capabilities().oneDeltaPerFrame() {
		a.deltaAt = time.Now()
	}
	a.pending = append(a.pending, encoded)
	if len(a.pending) < maxPending {
		return nil
	}
	return a.flush(ctx)
}

func (a *attachment) encode(m message) (jsonrpc.Notification, error) {
	encode := func() (jsonrpc.Notification, error) { return jsonrpc.NewNotification(m.method, m.params(a.session)) }
	if d, ok := m.event.(delta); !ok || !m.shared || d.HTML != nil {
		return encode()
	}
	return a.cache.Get(m.entry, deltaKey{m.entry, m.seq, m.cursor}, func() (jsonrpc.Notification, error) {
		encoded, err := encode()
		if sockets := a.conn.api.options.Sockets; err == nil && sockets != nil {
			sockets.Share(encoded) // only here: readers at different places, whose deltas are joined differently, would push each other's out
		}
		return encoded, err
	})
}

// flush sends the notifications that were added.
func (a *attachment) flush(ctx context.Context) error {
	if len(a.pending) == 0 {
		return nil
	}
	list := a.pending
	a.pending = nil // an idle attachment holds no memory for them
	return a.conn.peer.Send(ctx, list...)
}

// deltaKey has everything that the form of a delta depends on: what it joins, and how the run is numbered for this UI.
type deltaKey struct {
	entry  uint64 // its first
	seq    int
	cursor cursor
}

// deltaCache has the deltas of a session as notifications.
type deltaCache = wire.Cache[deltaKey, jsonrpc.Notification]

// messageLists are lists for the messages of a batch.
type messageLists struct{ pool sync.Pool }

func (l *messageLists) get() *[]message {
	if list, ok := l.pool.Get().(*[]message); ok {
		return list
	}
	return &[]message{}
}

func (l *messageLists) put(list *[]message) {
	clear(*list)
	*list = (*list)[:0]
	l.pool.Put(list)
}
