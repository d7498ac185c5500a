package jsonrpc

import (
	"context"
	"sync"
	"time"
)

// Peer is one end of a connection. All methods may be called concurrently.
type Peer struct {
	caller
	carrier  Carrier
	queue    *queue
	calls    calls
	messages *closableGroup // messages read and not yet answered
	after    *closableGroup // functions that run after responses

	once struct{ stop, fail sync.Once }
	last chan struct{} // closed when nothing more will be read
	lost chan struct{} // closed when the connection has ended
	err  error         // why; valid once lost is closed
}

// New returns a peer with the given methods; nil: none. It does nothing before [Peer.Run].
func New(carrier Carrier, methods Finder, options Options) *Peer {
	options = options.withDefaults()
	if methods == nil {
		methods = Methods{}
	}
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

// Run serves the connection until its end. It returns nil if the peer sends nothing more, or [Peer.Stop] was called,
// and every message that was read has been answered. Otherwise it returns ctx.Err(), [ErrClosed], [ErrStuck] or the
// error of the carrier. It can be called once.
func (p *Peer) Run(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	reading := runAsync(func() { p.read(inner) })
	p.queue.begin(p.write)
	err := p.finish(ctx, inner)
	cancel()
	p.calls.fail(ErrClosed)
	p.queue.discard()
	p.wait(runAsync(p.hangUp), reading, p.queue.ended, p.messages.close(), p.after.close())
	return err
}

// finish waits until everything is answered, [Options.Last] has returned and everything is written. Functions that run
// after responses can no longer send then. inner outlives finish.
func (p *Peer) finish(ctx, inner context.Context) error {
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
	return p.until(ctx, p.queue.ended)
}

// until waits for done, or returns why waiting is pointless.
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

// wait waits for all channels, up to a time limit.
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

// Stop ends reading. Run returns when the messages read before are answered.
func (p *Peer) Stop() { p.once.stop.Do(func() { close(p.last) }) }

// Close closes the connection. It does not wait for Run to return.
func (p *Peer) Close() { p.fail(ErrClosed) }

// fail ends the connection. Only the first error counts.
func (p *Peer) fail(err error) {
	p.once.fail.Do(func() {
		p.err = err
		close(p.lost)
	})
}

func (p *Peer) hangUp() { _ = p.carrier.Close() }

// runAsync runs f on a new goroutine and returns a channel that is closed at its end.
func runAsync(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}
