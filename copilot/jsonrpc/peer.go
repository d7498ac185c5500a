package jsonrpc

import (
	"context"
	"sync"
	"time"
)

// Peer is one end of a connection. All its methods may be called at any time by anybody.
type Peer struct {
	caller
	carrier  Carrier
	queue    *queue
	calls    calls
	messages *closableGroup // what was read and is not answered yet
	after    *closableGroup // what is done after a response

	once struct{ stop, fail sync.Once }
	last chan struct{} // closed when nothing more is to be read
	lost chan struct{} // closed when nothing more can be done
	err  error         // why; to be read only after lost
}

// New makes a peer that is called by its methods. It does nothing before [Peer.Run].
func New(carrier Carrier, methods Methods, options Options) *Peer {
	options = options.withDefaults()
	return &Peer{
		caller: caller{
			methods: methods,
			options: options,
			workers: &workers{most: options.Concurrent, mostWaiting: options.Waiting},
		},
		carrier:  carrier,
		queue:    newQueue(),
		calls:    calls{prefix: options.IDPrefix, open: map[string]*PendingCall{}},
		messages: newClosableGroup(),
		after:    newClosableGroup(),
		last:     make(chan struct{}),
		lost:     make(chan struct{}),
	}
}

// Run serves the connection until its end, and returns nil if that was a good one: the peer has nothing more to say, or
// [Peer.Stop] was called, and everything that was read has been answered. Otherwise it returns ctx.Err(), [ErrClosed],
// [ErrStuck], or the error of the carrier. It can be called once.
func (p *Peer) Run(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	reading, writing := runAsync(func() { p.read(inner) }), runAsync(p.write)
	err := p.finish(ctx, inner, writing)
	cancel()
	p.calls.fail(ErrClosed)
	p.queue.discard()
	p.wait(runAsync(p.hangUp), reading, writing, p.messages.close(), p.after.close())
	return err
}

// finish waits until everything is answered, [Options.Last] has returned and all is written. What goes on by itself after a
// response cannot send any more then. inner outlives finish.
func (p *Peer) finish(ctx, inner context.Context, writing <-chan struct{}) error {
	if err := p.until(ctx, p.last); err != nil {
		return err
	}
	p.calls.fail(ErrGone)
	if err := p.until(ctx, p.messages.close()); err != nil {
		return err
	}
	if p.options.Last != nil && p.after.add() {
		last := runAsync(func() {
			defer p.after.done()
			p.do(func() { p.options.Last(inner) })
		})
		if err := p.until(ctx, last); err != nil {
			return err
		}
	}
	p.queue.close()
	return p.until(ctx, writing)
}

// until waits for something, or returns why that makes no sense any more.
func (p *Peer) until(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
	case <-p.lost:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-p.lost:
		return p.err
	default:
		return nil
	}
}

// wait waits for all of them, but not for ever.
func (p *Peer) wait(all ...<-chan struct{}) {
	grace := time.NewTimer(p.options.Grace)
	defer grace.Stop()
	for _, done := range all {
		select {
		case <-done:
		case <-grace.C:
			return
		}
	}
}

// Stop has nothing more read. Run returns when what was read before is answered.
func (p *Peer) Stop() { p.once.stop.Do(func() { close(p.last) }) }

// Close gives the connection up. It does not wait for Run to return.
func (p *Peer) Close() { p.fail(ErrClosed) }

// fail gives the connection up for a reason, of which the first counts.
func (p *Peer) fail(err error) {
	p.once.fail.Do(func() {
		p.err = err
		close(p.lost)
	})
}

func (p *Peer) hangUp() { _ = p.carrier.Close() }

// runAsync does something on another goroutine and returns what tells its end.
func runAsync(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}
