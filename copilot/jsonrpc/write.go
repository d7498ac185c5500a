package jsonrpc

import (
	"context"
	"time"
)

// write writes queued messages until there are none.
func (p *Peer) write() {
	for messages := p.queue.take(); len(messages) > 0; messages = p.queue.take() {
		if err := p.writeInTime(messages); err != nil {
			p.fail(err)
			p.queue.fail()
			return
		}
	}
}

func (p *Peer) writeInTime(messages [][]byte) error {
	if p.options.WriteTimeout > 0 {
		timer := time.AfterFunc(p.options.WriteTimeout, func() { p.fail(ErrStuck) })
		defer timer.Stop()
	}
	return p.carrier.Write(messages)
}

// Notify sends a notification. It waits while too much is unsent.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	n, err := NewNotification(method, params)
	if err != nil {
		return err
	}
	return p.Send(ctx, n)
}

// Send sends encoded notifications. It waits while too much is unsent.
func (p *Peer) Send(ctx context.Context, list ...Notification) error {
	return push(ctx, p.queue, p.options.Queue, list...)
}

// Flush waits until everything sent before is written, or returns an error.
func (p *Peer) Flush(ctx context.Context) error { return p.queue.flush(ctx) }
