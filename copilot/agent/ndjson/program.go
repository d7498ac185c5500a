package ndjson

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

// program is one that runs.
type program struct {
	in        io.WriteCloser  // its standard input
	out       io.ReadCloser   // its standard output
	gone      <-chan struct{} // closed when it has ended
	terminate func()
	kill      func()
	clean     func() // ends what it has left running, when it is gone
	how       func() string
	exit      func() string // see [agent.Agent.Exit]
	memory    func() int64
	effort    func() process.Activity
}

// start starts the program, which the set gets to know.
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
	command := exec.Command(o.Command[0], o.Command[1:]...) //nolint:gosec,noctx // what the user configured; it outlives any context
	command.Dir, command.Env, command.Stdin, command.Stdout, command.Stderr = o.Directory, o.Env, in, out, words
	p, err := process.Start(command)
	_ = errors.Join(in.Close(), out.Close()) // the program has its own
	if err != nil {
		_ = errors.Join(ourIn.Close(), ourOut.Close())
		return nil, fault.Errorf(fault.Unavailable, "it could not be started: %w", err)
	}
	all.Add(p)
	return &program{
		in: ourIn, out: ourOut, gone: p.Exited(), terminate: p.Terminate, kill: p.Kill, clean: func() { p.EndChildren() },
		how:    func() string { return strings.TrimSpace(p.State() + "\n" + words.tail.String()) },
		exit:   func() string { return p.Exit(words.tail.String()) },
		memory: p.Memory, effort: p.Activity,
	}, nil
}

// stderrLog takes what a program says on its standard error: its end is kept, and all
// of it goes into the log, for those who look for faults.
type stderrLog struct {
	log  *slog.Logger
	tail process.Tail
	line []byte // that has no end yet; used by Write alone
}

// maxWord is how much of a line is logged.
const maxWord = 4 << 10

// Write never fails.
func (w *stderrLog) Write(b []byte) (int, error) {
	_, _ = w.tail.Write(b) // never fails
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		w.line = append(w.line, line[:min(len(line), maxWord-len(w.line))]...)
		if whole {
			w.log.Debug("the agent's program says", "line", strings.ToValidUTF8(string(w.line), "\uFFFD"))
			w.line = w.line[:0]
		}
	}
	return len(b), nil
}
