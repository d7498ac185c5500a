package jsonrpc

import (
	"context"
	"errors"
	"io"
)

// read reads to the end and handles methods that are in order.
func (p *Peer) read(ctx context.Context) {
	for p.queue.waitBelow(ctx, p.options.Unread) == nil {
		raw, err := p.carrier.Read()
		tooLong := errors.Is(err, ErrTooLong)
		switch {
		case errors.Is(err, io.EOF):
			p.Stop()
			return
		case err != nil && !tooLong:
			p.fail(err)
			return
		case !p.messages.add():
			return
		case tooLong:
			p.answered(p.answerInvalid(nil, &refusal{err: parseError(err)}), nil)
		default:
			p.handleMessage(ctx, raw)
		}
	}
}

// handleMessage handles one message or batch.
func (p *Peer) handleMessage(ctx context.Context, raw []byte) {
	if len(strip(raw)) == 0 {
		p.messages.done()
		return
	}
	messages, batch := decode(raw, p.options.Batch)
	r := newResponseCollector(len(messages), batch, p.answered)
	for i, m := range messages {
		p.handleOne(ctx, raw, m, func(response []byte, after []func()) { r.put(i, response, after) })
	}
}

func (p *Peer) handleOne(ctx context.Context, raw []byte, m message, respond func([]byte, []func())) {
	switch {
	case m.answer != nil:
		p.resolve(m.answer)
		respond(nil, nil)
	case m.refusal != nil:
		respond(p.answerInvalid(raw, m.refusal), nil)
	default:
		m.request.Peer = p
		p.handle(ctx, m.request, respond)
	}
}

// answerInvalid returns the response to an invalid message, or nil.
func (p *Peer) answerInvalid(raw []byte, r *refusal) []byte {
	p.options.Log.Warn("the peer sent an invalid message", "reason", r.err, "message", string(raw[:min(len(raw), 200)]))
	if p.options.IgnoreGarbage {
		return nil
	}
	return p.encodeError(r.id, r.err)
}

// resolve passes an answer to the call that waits for it.
func (p *Peer) resolve(a *answer) {
	if !p.calls.resolve(a) {
		p.options.Log.Debug("an unexpected response was ignored", "id", string(a.id), "error", a.err)
	}
}

// answered sends the response to a message. It does not wait, so that reading can continue.
func (p *Peer) answered(response []byte, after []func()) {
	defer p.messages.done()
	if response != nil && push(context.Background(), p.queue, unlimited, response) != nil {
		return
	}
	if len(after) == 0 || !p.after.add() {
		return
	}
	go func() {
		defer p.after.done()
		for _, f := range after {
			p.do(f)
		}
	}()
}
