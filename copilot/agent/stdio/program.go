// Package stdio runs programs of agents that speak JSON-RPC on their standard streams, one message per line.
package stdio

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Program is a running program.
type Program struct {
	In        io.WriteCloser  // standard input
	Out       io.ReadCloser   // standard output
	Gone      <-chan struct{} // closed when it has ended
	Terminate func()
	Kill      func()
	Clean     func()        // ends its children after it has ended
	How       func() string // describes how it ended, with the end of its standard error
	Exit      func() string // see [agent.Agent.Exit]
	Memory    func() int64  // of the program without its children, in bytes
	Activity  func() process.Activity
}

// Command describes a program.
type Command struct {
	Words     []string // program and arguments
	Directory string   // working directory; "": that of the portal
	Env       []string // "KEY=VALUE"; nil: that of the portal
	Log       *slog.Logger
}

// Start starts the program and adds it to the set. [Connect] must follow. Errors are of kind [fault.Unavailable].
func (c Command) Start(all *process.Set) (*Program, error) {
	in, ourIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourOut, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), ourIn.Close())
	}
	stderr := &stderrLog{log: c.Log}
	command := exec.Command(c.Words[0], c.Words[1:]...) //nolint:gosec,noctx // configured by the user; it outlives any context
	command.Dir, command.Env, command.Stdin, command.Stdout, command.Stderr = c.Directory, c.Env, in, out, stderr
	p, err := process.Start(command)
	_ = errors.Join(in.Close(), out.Close()) // the program has its own copies
	if err != nil {
		_ = errors.Join(ourIn.Close(), ourOut.Close())
		return nil, fault.Errorf(fault.Unavailable, "cannot start it: %w", err)
	}
	all.Add(p)
	return &Program{
		In: ourIn, Out: ourOut, Gone: p.Exited(), Terminate: p.Terminate, Kill: p.Kill, Clean: func() { p.EndChildren() },
		How:    func() string { return strings.TrimSpace(p.State() + "\n" + stderr.tail.String()) },
		Exit:   func() string { return p.Exit(stderr.tail.String()) },
		Memory: p.Memory, Activity: p.Activity,
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
