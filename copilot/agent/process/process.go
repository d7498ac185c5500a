// Package process runs the programs of agents: each in its own session of processes, without the portal's terminal, and
// with a mark with which all its children are found and ended with it. On Linux, programs do not outlive the portal.
package process

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is a started program. It is safe for concurrent use.
type Process struct {
	command *exec.Cmd
	mark    string        // in the environment of the program and all its children
	exited  chan struct{} // closed when it has ended
	inner   *os.Process   // the process inside a sandbox; nil means that of the command
}

// markVariable is the variable that contains the mark.
const markVariable = "COPILOT_PORTAL_AGENT"

// PipeDelay is how long to wait for output after the process has ended: a child may keep its pipes open.
const PipeDelay = 200 * time.Millisecond

// Start starts a command and adds marks to its environment, which defaults to ours. Nothing else may use the
// command afterwards. When the process has ended, by itself or by [Process.Kill], the caller must call
// [Process.EndChildren].
func Start(c *exec.Cmd) (*Process, error) { return begin(c, ownSession()) }

// StartTerminal is [Start] for a command whose terminal is its standard input. It fails on systems without terminals.
func StartTerminal(c *exec.Cmd) (*Process, error) {
	attributes := ownTerminal()
	if attributes == nil {
		return nil, errors.ErrUnsupported
	}
	return begin(c, attributes)
}

func begin(c *exec.Cmd, attributes *syscall.SysProcAttr) (*Process, error) {
	p := &Process{command: c, mark: rand.Text(), exited: make(chan struct{})}
	c.Env = append(c.Environ(), markVariable+"="+p.mark, ownerVariable+"="+owner())
	c.WaitDelay = PipeDelay
	c.SysProcAttr = attributes
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

// start runs the command on a thread that lives as long as the process: on Linux the kernel kills the program
// when the thread that started it ends, so it cannot outlive the portal.
func (p *Process) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.command.Start()
		started <- err
		if err != nil {
			return
		}
		_ = p.command.Wait() // the state says how it ended
		close(p.exited)
	}()
	return <-started
}

// Exited returns a channel that is closed when the process has ended. Its children may still be running.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// State describes how the process ended. Call it only after Exited is closed.
func (p *Process) State() string { return p.command.ProcessState.String() }

// HasEnded reports whether Exited is closed.
func (p *Process) HasEnded() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// During returns a context that is also cancelled when the process ends, because a dead process answers
// nothing.
func (p *Process) During(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-p.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-watched }
}

// PID returns the process id.
func (p *Process) PID() int { return p.process().Pid }

func (p *Process) process() *os.Process {
	if p.inner != nil {
		return p.inner
	}
	return p.command.Process
}

// Mark returns the environment variable that identifies all children of the process.
func (p *Process) Mark() string { return markVariable + "=" + p.mark }

// Terminate asks the process to stop.
func (p *Process) Terminate() { signalGently(p.process()) }

// Kill kills the process.
func (p *Process) Kill() {
	if !p.HasEnded() {
		killGroup(p.command.Process)
	}
}

// KillAll kills the process and all its children.
func (p *Process) KillAll() {
	p.Kill()
	<-p.exited
	p.EndChildren()
}
