package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
)

// writeTimeout ends the connection of a UI that does not read.
const writeTimeout = time.Minute

// interrupt is how long shutdown waits for a read or write that cannot be interrupted.
const interrupt = 100 * time.Millisecond

// untaken is how long a UI that has closed its output may leave our output unread before it counts as gone.
const untaken = 1500 * time.Millisecond

// The time limits of a connection whose sessions have ended: for the last answers and the ends of runs, which takes a dialect up to
// 1.5 s, and for its end after it was cut off.
const (
	lastFlush = 2500 * time.Millisecond
	afterCut  = 300 * time.Millisecond
)

// Stdio runs a portal for a single UI on in and out. It opens no port. It returns nil when in ends or ctx is
// done, after it has answered pending requests, closed the sessions and stopped the agents. It always closes
// in. rules precede the configured ones in sessions that the UI starts.
func Stdio(
	ctx context.Context, c Config, version string, log *slog.Logger, in io.ReadCloser, out io.Writer, rules permission.Policy,
) error {
	if err := c.CheckBook(); err != nil {
		_ = in.Close() // the caller relies on it; closing a reader cannot lose data
		return err
	}
	k := newCore(ctx, c, version, log)
	return k.serveStreams(ctx, "UI", in, out, func(ctx context.Context, in watchedInput, out io.WriteCloser, end func()) error {
		client := ui.Client{Directory: workDir(), Grace: interrupt, WriteTimeout: writeTimeout, Policy: rules, End: end}
		return k.newUI(nil).Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LineOptions{Max: ui.MaxMessage}), client)
	})
}

// serveStreams runs a portal from start to end, for a client on in and out that serve serves. end closes the sessions; serve may
// call it, otherwise it is called when the connection has ended or must end.
func (k *portalCore) serveStreams(
	ctx context.Context, client string, in io.ReadCloser, out io.Writer,
	serve func(ctx context.Context, in watchedInput, out io.WriteCloser, end func()) error,
) error {
	defer k.close()
	work := background(ctx, k.recoverSessions, k.retain, k.recoverWork(k.jobs.Recover))
	defer work.wait()
	end := sync.OnceFunc(func() {
		work.stop()
		k.closeGently(ctx) // pending requests fail, which is an answer, too
	})
	t := startSession(context.WithoutCancel(ctx), in, out, func(ctx context.Context, in watchedInput, out io.WriteCloser) error {
		return serve(ctx, in, out, end)
	})
	defer t.cut()
	over, err := t.wait(ctx)
	end()
	if !over {
		err = t.flushBriefly(context.WithoutCancel(ctx))
	}
	if err != nil {
		return fmt.Errorf("the connection to the %s failed: %w", client, err)
	}
	return nil
}

// streamSession is the connection with a client over streams.
type streamSession struct {
	inputEnded chan struct{} // closed when nothing more is read
	ended      chan error    // receives the result of the dialect
	out        *output
	cut        func() // aborts it
}

// startSession starts the dialect in a goroutine.
func startSession(
	ctx context.Context, in io.ReadCloser, out io.Writer, serve func(context.Context, watchedInput, io.WriteCloser) error,
) streamSession {
	ctx, cancel := context.WithCancel(ctx)
	t := streamSession{inputEnded: make(chan struct{}), ended: make(chan error, 1), out: &output{Writer: out}, cut: cancel}
	watched := watchedInput{ReadCloser: in, ended: sync.OnceFunc(func() { close(t.inputEnded) })}
	go func() { t.ended <- serve(ctx, watched, t.out) }() // a write to out may never end, see output
	return t
}

// wait waits until the connection has ended, or must end, and reports whether it has.
func (t streamSession) wait(ctx context.Context) (over bool, err error) {
	select {
	case err = <-t.ended:
		return true, err
	case <-t.inputEnded:
	case <-ctx.Done():
		return false, nil
	}
	return t.waitOutput(ctx, lastAnswers)
}

// waitOutput waits for a limited time until the last answers are written and read. It does not wait for a client that reads none.
func (t streamSession) waitOutput(ctx context.Context, limit time.Duration) (over bool, err error) {
	late, look := time.NewTimer(limit), time.NewTicker(untaken/10)
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

// flushBriefly gives the client a moment to read the last answers.
func (t streamSession) flushBriefly(ctx context.Context) error {
	over, err := t.waitOutput(ctx, lastFlush)
	if !over {
		t.cut()
		_, err = t.waitOutput(ctx, afterCut)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// watchedInput reports its end. A reader of lines meets it only after the last complete line.
type watchedInput struct {
	io.ReadCloser

	ended func() // may be called before, when nothing more is to be read
}

// Read reads from the input.
func (w watchedInput) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil {
		w.ended()
	}
	return n, err
}

// piece is the maximum number of bytes of one write. Only a client that takes fewer within [untaken] counts as gone.
const piece = 4 << 10

// output measures how long a write has waited for its reader. It is never closed: the process does that, and
// closing cannot interrupt a write.
type output struct {
	io.Writer

	since atomic.Pointer[time.Time] // start of the write of the current piece
}

// Write writes in pieces, because a client may read slowly and a write returns when everything is taken.
func (o *output) Write(p []byte) (int, error) {
	defer o.since.Store(nil)
	all := 0
	for part := range slices.Chunk(p, piece) {
		now := time.Now()
		o.since.Store(&now)
		n, err := o.Writer.Write(part)
		if all += n; err != nil {
			return all, err
		}
	}
	return all, nil
}

func (o *output) waitTime() time.Duration {
	if since := o.since.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// Close does nothing, see output.
func (o *output) Close() error { return nil }
