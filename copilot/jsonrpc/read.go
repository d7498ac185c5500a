package jsonrpc

import (
	"context"
	"errors"
	"io"
)

// read reads until the end. What is in order is handled here.
func (p *Peer) read(ctx context.Context) {
	for p.queue.below(ctx, p.options.Unread) == nil {
		raw, err := p.carrier.Read()
		tooLong := errors.Is(err, ErrTooLong)
		switch {
		case errors.Is(err, io.EOF):
			p.Stop()
			return
		case err != nil && !tooLong:
			p.fail(err)
			return
		case !p.messages.enter():
			return
		case tooLong:
			p.answered(p.misunderstood(nil, &refusal{err: parseError(err)}), nil)
		default:
			p.take(ctx, raw)
		}
	}
}

// take handles what was read.
func (p *Peer) take(ctx context.Context, raw []byte) {
	if len(strip(raw)) == 0 {
		p.messages.leave()
		return
	}
	messages, batch := decode(raw, p.options.Batch)
	r := newReply(len(messages), batch, p.answered)
	for i, m := range messages {
		p.takeOne(ctx, raw, m, func(response []byte, after []func()) { r.put(i, response, after) })
	}
}

func (p *Peer) takeOne(ctx context.Context, raw []byte, m message, respond func([]byte, []func())) {
	switch {
	case m.answer != nil:
		p.settle(m.answer)
		respond(nil, nil)
	case m.refusal != nil:
		respond(p.misunderstood(raw, m.refusal), nil)
	default:
		m.request.Peer = p
		p.handle(ctx, m.request, respond)
	}
}

// misunderstood makes the response to what is no message, if there is to be one.
func (p *Peer) misunderstood(raw []byte, r *refusal) []byte {
	p.options.Log.Warn("the peer sent what is no message", "reason", r.err, "message", string(raw[:min(len(raw), 200)]))
	if p.options.IgnoreGarbage {
		return nil
	}
	return encodeError(r.id, r.err)
}

// settle gives an answer to the call that waits for it.
func (p *Peer) settle(a *answer) {
	if !p.calls.settle(a) {
		p.options.Log.Debug("an answer came that nobody waits for", "id", string(a.id), "error", a.err)
	}
}

// answered sends what a message is answered with. Responses do not wait, so that reading can go on.
func (p *Peer) answered(response []byte, after []func()) {
	defer p.messages.leave()
	if response != nil && p.queue.push(context.Background(), response, unlimited) != nil {
		return
	}
	if len(after) == 0 || !p.after.enter() {
		return
	}
	go func() {
		defer p.after.leave()
		for _, f := range after {
			p.do(f)
		}
	}()
}
