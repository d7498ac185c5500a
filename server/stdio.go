package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
)

// interrupt is how long a read or write is waited for in the end that cannot be
// interrupted.
const interrupt = 100 * time.Millisecond

// untaken is how long a UI that says no more may not read either, before it is taken
// for one that does not listen any more.
const untaken = 1500 * time.Millisecond

// Stdio is a portal of its own for one UI, which speaks on streams. It opens no
// port. It returns nil when in ends and when ctx does: what was asked is answered,
// sessions are closed, agent processes ended. in is closed in any case. rules are put over the configured ones in sessions that
// the UI begins.
func Stdio(
	ctx context.Context, c Config, version string, log *slog.Logger, in io.ReadCloser, out io.Writer, rules permission.Policy,
) error {
	k := newCore(ctx, c, version, log)
	if err := k.checkBook(); err != nil {
		_ = in.Close() // which is what was promised; it is only read from
		k.closeGently(ctx)
		k.close()
		return err
	}
	client := ui.Client{Directory: workDir(), Grace: interrupt, Policy: rules}
	err := k.serveStreams(ctx, func(ctx context.Context, end func()) streamSession {
		client.End = end
		return newTalk(ctx, in, out, jsonrpc.LineOptions{Max: ui.MaxMessage}, func(ctx context.Context, carrier jsonrpc.Carrier) error {
			return k.newUI(nil).Serve(ctx, carrier, client)
		})
	})
	if err != nil {
		return fmt.Errorf("the UI cannot be spoken with any more: %w", err)
	}
	return nil
}

// serveStreams is a portal on streams from its beginning to its end. Its sessions are closed by end, which who speaks there may
// call before, and otherwise when the conversation is over or must be.
func (k *portalCore) serveStreams(ctx context.Context, begin func(ctx context.Context, end func()) streamSession) error {
	defer k.close()
	stopCare := k.maintainStorage(ctx, k.recoverWork(k.jobs.Recover))
	end := sync.OnceFunc(func() {
		stopCare()
		k.closeGently(ctx) // requests that wait fail, which are answers, too
	})
	t := begin(context.WithoutCancel(ctx), end)
	defer t.cut()
	over, err := t.wait(ctx)
	end()
	if !over {
		err = t.flushBriefly()
	}
	return err
}

// streamSession is what is spoken on streams with a UI or an app.
type streamSession struct {
	inputEnded chan struct{} // closed when the UI says no more
	ended      chan error    // gets how it ended
	out        *output
	cut        func() // ends it at once
}

// newTalk begins to speak.
func newTalk(
	ctx context.Context, in io.ReadCloser, out io.Writer, lines jsonrpc.LineOptions, serve func(context.Context, jsonrpc.Carrier) error,
) streamSession {
	ctx, cancel := context.WithCancel(ctx)
	t := streamSession{inputEnded: make(chan struct{}), ended: make(chan error, 1), out: &output{Writer: out}, cut: cancel}
	carrier := &streams{
		Lines: jsonrpc.NewLines(in, t.out, lines),
		ended: func() { close(t.inputEnded) },
	}
	go func() { t.ended <- serve(ctx, carrier) }()
	return t
}

// wait waits for the end, or for what must end it.
func (t streamSession) wait(ctx context.Context) (over bool, err error) {
	select {
	case err = <-t.ended:
		return true, err
	case <-t.inputEnded:
	case <-ctx.Done():
		return false, nil
	}
	return t.waitOutput(ctx)
}

// waitOutput waits for the last answers to be made and taken.
func (t streamSession) waitOutput(ctx context.Context) (over bool, err error) {
	late, look := time.NewTimer(lastAnswers), time.NewTicker(untaken/10)
	defer late.Stop()
	defer look.Stop()
	for {
		select {
		case err = <-t.ended:
			return true, err
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, nil
		case <-look.C:
			if t.out.waitTime() > untaken {
				return false, nil
			}
		}
	}
}

// flushBriefly gives the last answers a moment to go out. A UI that takes none is left.
func (t streamSession) flushBriefly() error {
	for range 2 {
		select {
		case err := <-t.ended:
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		case <-time.After(drain):
			t.cut()
		}
	}
	return nil
}

// streams are lines that tell their end.
type streams struct {
	*jsonrpc.Lines
	ended func() // is called once
}

// Read is not called again after an end.
func (s *streams) Read() ([]byte, error) {
	line, err := s.Lines.Read()
	if err != nil && !errors.Is(err, jsonrpc.ErrTooLong) {
		s.ended()
	}
	return line, err
}

// output tells how long it has waited for its reader. It is not closed: the process
// does that, and a close cannot interrupt a write.
type output struct {
	io.Writer

	since atomic.Pointer[time.Time] // when the write began that is under way
}

func (o *output) Write(p []byte) (int, error) {
	now := time.Now()
	o.since.Store(&now)
	defer o.since.Store(nil)
	return o.Writer.Write(p)
}

func (o *output) waitTime() time.Duration {
	if since := o.since.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// Close does nothing.
func (o *output) Close() error { return nil }
