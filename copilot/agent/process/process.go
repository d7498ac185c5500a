// Package process runs the programs that agents are: each in a process group of
// its own, with a mark by which everything that it starts is found and ended with
// it, and, on Linux, not outliving the portal.
package process

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Process is a program that was started. Its methods may be called concurrently.
type Process struct {
	command *exec.Cmd
	mark    string        // in the environment of the program and of all that it starts
	exited  chan struct{} // closed when it has ended
	err     error         // how; valid once gone is closed
	inner   *os.Process   // the one that works, in a sandbox; nil: the command's
}

// markVariable carries the mark.
const markVariable = "COPILOT_PORTAL_AGENT"

// PipeDelay is how long the end of the process may wait for what it wrote: one
// that it started may hold its pipes open.
const PipeDelay = 200 * time.Millisecond

// Start starts a command, to whose environment (ours, if it has none) it adds marks.
// Nothing else may use the command any more. The process ends by itself or by [Process.Kill]; when
// it is gone, the caller ends what it left with [Process.EndChildren].
func Start(c *exec.Cmd) (*Process, error) {
	p := &Process{command: c, mark: rand.Text(), exited: make(chan struct{})}
	c.Env = append(c.Environ(), markVariable+"="+p.mark, ownerVariable+"="+owner())
	c.WaitDelay = PipeDelay
	c.SysProcAttr = ownGroup()
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

// start runs the command on a thread that lives as long as the process: on
// Linux the kernel ends the program when the thread that started it ends, so that
// it cannot outlive us even if we are killed.
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
		p.err = p.command.Wait()
		close(p.exited)
	}()
	return <-started
}

// Exited is closed when the process has ended. What it started may still live.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err is how it has ended, nil if well; only once Gone is closed.
func (p *Process) Err() error { return p.err }

// State is how it has ended, in words; only once Gone is closed.
func (p *Process) State() string { return p.command.ProcessState.String() }

// HasEnded says whether Gone is closed.
func (p *Process) HasEnded() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// During gives a context that ends with the process, too: a dead one answers
// nothing.
func (p *Process) During(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// PID is its id.
func (p *Process) PID() int { return p.process().Pid }

func (p *Process) process() *os.Process {
	if p.inner != nil {
		return p.inner
	}
	return p.command.Process
}

// Mark is the variable that everything carries in its environment that it has started.
func (p *Process) Mark() string { return markVariable + "=" + p.mark }

// Terminate asks the process to end.
func (p *Process) Terminate() { signalGently(p.process()) }

// Kill ends the process at once.
func (p *Process) Kill() {
	if !p.HasEnded() {
		killGroup(p.command.Process)
	}
}

// KillAll ends the process at once and all that it started.
func (p *Process) KillAll() {
	p.Kill()
	<-p.exited
	p.EndChildren()
}
