package ndjson

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/fault"
)

// program is a running program.
type program struct {
	in        io.WriteCloser  // standard input
	out       io.ReadCloser   // standard output
	gone      <-chan struct{} // closed when it has ended
	terminate func()
	kill      func()
	clean     func() // ends its children after it has ended
	how       func() string
	exit      func() string // see [agent.Agent.Exit]
	memory    func() int64
	activity  func() process.Activity
}

// start starts the program and adds it to the set.
func (o Options) start(all *process.Set) (*program, error) {
	in, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourOut, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), ourIn.Close())
	}
	words := &stderrLog{log: o.Log}
	command := exec.Command(o.Command[0], o.Command[1:]...) //nolint:gosec,noctx // configured by the user; it outlives any context
	command.Dir, command.Env, command.Stdin, command.Stdout, command.Stderr = o.Directory, o.Env, in, out, words
	p, err := process.Start(command)
	_ = errors.Join(in.Close(), out.Close()) // the program has its own copies
	if err != nil {
		_ = errors.Join(ourIn.Close(), ourOut.Close())
		return nil, fault.Errorf(fault.Unavailable, "cannot start it: %w", err)
	}
	all.Add(p)
	return &program{
		in: ourIn, out: ourOut, gone: p.Exited(), terminate: p.Terminate, kill: p.Kill, clean: func() { p.EndChildren() },
		how:    func() string { return strings.TrimSpace(p.State() + "\n" + words.tail.String()) },
		exit:   func() string { return p.Exit(words.tail.String()) },
		memory: p.Memory, activity: p.Activity,
	}, nil
}

// stderrLog logs the standard error of a program and keeps its end.
type stderrLog struct {
	log  *slog.Logger
	tail process.Tail
	line []byte // incomplete line; used only by Write
}

// maxLogLine is the maximum length of a logged line.
const maxLogLine = 4 << 10

// Write never fails.
func (w *stderrLog) Write(b []byte) (int, error) {
	_, _ = w.tail.Write(b) // never fails
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		w.line = append(w.line, line[:min(len(line), maxLogLine-len(w.line))]...)
		if whole {
			w.log.Debug("output of the agent's program", "line", strings.ToValidUTF8(string(w.line), "\uFFFD"))
			w.line = w.line[:0]
		}
	}
	return len(b), nil
}

// exitPatience limits each step of stopping a program.
const exitPatience = 2 * time.Second

// stop stops the program: an exit notification, the end of its input, SIGTERM, and SIGKILL when ctx is done or it takes
// too long.
func (l *link) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*exitPatience)
	defer cancel()
	limit := exitPatience
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	gentle, cancelGentle := context.WithTimeout(ctx, limit)
	defer cancelGentle()
	if l.peer.Notify(gentle, "exit", nil) == nil {
		_ = l.peer.Flush(gentle) // the input is closed in any case
	}
	_ = l.program.in.Close()
	if !l.isGone(gentle) {
		l.program.terminate()
		if !l.isGone(ctx) {
			l.program.kill()
		}
	}
	<-l.done
}

// isGone waits for the end of the program, or until ctx is done.
func (l *link) isGone(ctx context.Context) bool {
	select {
	case <-l.program.gone:
		return true
	case <-ctx.Done():
		return false
	}
}

const (
	writeLimit   = 10 * time.Second      // for writing a request
	pingInterval = 50 * time.Millisecond // interval of checks in ping
)

// ping waits for a sign of life if one is overdue. The protocol has no method to request one.
func (l *link) ping(ctx context.Context) error {
	before, heard := l.program.activity(), l.lastActivity.Load()
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for l.isOverdue() {
		select {
		case <-ticker.C:
		case <-l.over:
		case <-ctx.Done():
			if l.program.activity().Since(before, time.Unix(0, heard)) {
				return fault.Errorf(fault.Busy, "the agent's program is busy and does not answer: %w", ctx.Err())
			}
			return ctx.Err()
		}
	}
	if isClosed(l.over) {
		return errGone
	}
	return nil
}

// isOverdue reports whether the program should have answered, or read.
func (l *link) isOverdue() bool {
	since := l.writing.Load()
	stuck := since != 0 && time.Since(time.Unix(0, since)) > writeLimit
	return !isClosed(l.over) && (stuck || l.overdue.Load())
}
