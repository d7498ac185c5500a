package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// Link is the connection to a running program. It is safe for concurrent use. It ends with the program; [Link.Stop] ends
// both.
type Link struct {
	Program *Program
	Peer    *jsonrpc.Peer

	ends       sync.Once
	over       chan struct{} // closed when no more responses will come
	done       chan struct{} // closed when the program and its children have ended
	lastOutput atomic.Int64  // time of the last output, in Unix nanoseconds
}

// unread is how many bytes may be unsent while the program is read, several of the largest prompts: some programs do not read on before
// what they have written is read.
const unread = 256 << 20

// Connect connects to a program. The peer handles methods; see [jsonrpc.New].
func Connect(p *Program, methods jsonrpc.Methods, options jsonrpc.Options) *Link {
	options.Unread = unread
	l := &Link{Program: p, over: make(chan struct{}), done: make(chan struct{})}
	l.Peer = jsonrpc.New(jsonrpc.NewLines(&activityReader{p.Out, l}, p.In, jsonrpc.LineOptions{}), methods, options)
	go l.supervise(options.Log)
	return l
}

// activityReader records signs of life.
type activityReader struct {
	io.ReadCloser

	link *Link
}

// Read reads the output of the program.
func (e *activityReader) Read(b []byte) (int, error) {
	n, err := e.ReadCloser.Read(b)
	if n > 0 {
		e.link.lastOutput.Store(time.Now().UnixNano())
	}
	return n, err
}

// LastOutput returns the time of the last output of the program; the start of 1970 if there was none.
func (l *Link) LastOutput() time.Time { return time.Unix(0, l.lastOutput.Load()) }

// Over returns a channel that is closed when no more responses will come.
func (l *Link) Over() <-chan struct{} { return l.over }

// Done returns a channel that is closed when the program and its children have ended, after Over.
func (l *Link) Done() <-chan struct{} { return l.done }

// End declares that no more responses will come. The program is killed unless it exits soon.
func (l *Link) End() { l.ends.Do(func() { close(l.over) }) }

// exitGrace is how long a program may live after the end of its connection.
const exitGrace = time.Second

// supervise waits for the end of the program and cleans up.
func (l *Link) supervise(log *slog.Logger) {
	defer close(l.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var work sync.WaitGroup
	work.Go(func() {
		err := l.Peer.Run(ctx)
		log.Debug("the connection to the agent's program has ended", "err", err)
		l.End()
	})
	l.awaitExit()
	l.Program.Clean()
	select { // its last output may still be in the pipe
	case <-l.over:
	case <-time.After(process.PipeDelay):
	}
	l.End()
	cancel()
	_ = errors.Join(l.Program.In.Close(), l.Program.Out.Close())
	work.Wait()
}

// awaitExit waits for the program to exit, and kills it when its connection has ended.
func (l *Link) awaitExit() {
	select {
	case <-l.Program.Gone:
		return
	case <-l.over:
	}
	select {
	case <-l.Program.Gone:
	case <-time.After(exitGrace):
		l.Program.Kill()
		<-l.Program.Gone
	}
}

// exitTimeout limits each step of stopping a program.
const exitTimeout = 2 * time.Second

// AtOnce returns a context with which stopping a program kills it.
func AtOnce() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Stop stops the program: requestExit unless it is nil, the end of its input, SIGTERM, and SIGKILL when ctx is done or it takes
// too long. It returns when Done is closed.
func (l *Link) Stop(ctx context.Context, requestExit func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, 2*exitTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline() // at most that
	gentle, cancelGentle := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer cancelGentle()
	if requestExit != nil {
		requestExit(gentle)
	}
	_ = l.Program.In.Close()
	if !l.isGone(gentle) {
		l.Program.Terminate()
		if !l.isGone(ctx) {
			l.Program.Kill()
		}
	}
	<-l.done
}

// isGone waits for the end of the program, or until ctx is done.
func (l *Link) isGone(ctx context.Context) bool {
	select {
	case <-l.Program.Gone:
		return true
	case <-ctx.Done():
		return false
	}
}

// ErrGone is the error of calls after the end of the program.
var ErrGone = fault.Errorf(fault.Unavailable, "the agent's program has ended")

// Alive returns the error of calls after the end of the program, and otherwise that of ctx.
func (l *Link) Alive(ctx context.Context) error {
	if l.IsOver() {
		return ErrGone
	}
	return ctx.Err()
}

// IsOver reports whether no more responses will come.
func (l *Link) IsOver() bool { return agent.IsClosed(l.over) }

// Silent returns the error of a ping that had no answer until ctx was done: of kind [fault.Busy] if the program has worked since
// before.
func (l *Link) Silent(ctx context.Context, before process.Activity, since time.Time) error {
	if l.Program.Activity().Since(before, since) {
		return fault.Errorf(fault.Busy, "the agent's program is busy and does not answer: %w", ctx.Err())
	}
	return ctx.Err()
}
