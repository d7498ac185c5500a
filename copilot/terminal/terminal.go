// Package terminal runs shells in pseudo-terminals, each in a directory. A shell ends with everything that it started: when its
// terminal is closed, and with the portal.
package terminal

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Size is the size of a terminal in characters.
type Size struct{ Columns, Rows int }

// MaxSize is the maximum of both.
const MaxSize = 1000

// Options say what [Start] starts.
type Options struct {
	Directory string
	Environ   []string // of the shell; TERM is added. It must contain no secrets of the portal
	Size      Size
}

// Terminal is a running shell. Read and Write may be called concurrently with each other and with the other methods.
type Terminal struct {
	master  *os.File
	process *process.Process
	close   func()
	left    int            // bytes that Read returns after the end of the shell
	ending  sync.WaitGroup // ends Read after the end of the shell
}

// hangUp is how long a shell may take to end after its terminal was closed. It saves its history and passes the signal on to its jobs.
const hangUp = time.Second

// What Read returns after the end of the shell: what was printed before. Programs in the background may print without end.
const (
	quiet    = 100 * time.Millisecond // without output
	leftover = 64 << 10               // bytes
)

// Start starts the user's shell. The caller must close the terminal, also after the shell has ended.
//
// Errors: [fault.ErrDirectoryNotFound], kind [fault.Unavailable] where there are no pseudo-terminals.
func Start(o Options) (*Terminal, error) {
	if info, err := os.Stat(o.Directory); err != nil || !info.IsDir() {
		return nil, fault.Errorf(fault.Invalid, "%w: %s", fault.ErrDirectoryNotFound, o.Directory)
	}
	master, tty, err := pty.Open()
	if errors.Is(err, pty.ErrUnsupported) {
		return nil, fault.Errorf(fault.Unavailable, "terminals are not available on this system")
	}
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "no terminal could be opened: %w", err)
	}
	defer tty.Close() //nolint:errcheck // the shell has its own
	if master, err = interruptible(master); err != nil {
		return nil, fault.Errorf(fault.Unavailable, "no terminal could be opened: %w", err)
	}
	t := &Terminal{master: master, left: leftover}
	t.Resize(o.Size)
	c := exec.Command(shell(o.Environ)) //nolint:gosec,noctx // the user's shell, which Close ends
	c.Dir, c.Env = o.Directory, environ(o.Environ)
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	if t.process, err = process.StartTerminal(c); err != nil {
		_ = master.Close() // nothing was written
		return nil, fault.Errorf(fault.Unavailable, "the shell %s cannot be started: %w", c.Path, err)
	}
	t.close = sync.OnceFunc(t.end)
	t.ending.Go(func() {
		<-t.Ended()
		t.expectQuiet()
	})
	return t, nil
}

// shell returns the program named by SHELL, or a usual one.
func shell(environ []string) string {
	candidates := []string{"/bin/bash", "/bin/sh"}
	for _, v := range environ {
		if path, ok := strings.CutPrefix(v, "SHELL="); ok && filepath.IsAbs(path) {
			candidates = slices.Insert(candidates, 0, path)
		}
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return "sh"
}

func environ(given []string) []string {
	kept := slices.DeleteFunc(slices.Clone(given), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"TERM", "COLORTERM", "COLUMNS", "LINES"}, name)
	})
	return append(kept, "TERM=xterm-256color", "COLORTERM=truecolor")
}

// Read reads what the programs print. It returns [io.EOF] after the last output of the shell and after Close.
func (t *Terminal) Read(p []byte) (int, error) {
	if t.process.HasEnded() {
		return t.readLeftover(p)
	}
	n, err := t.master.Read(p)
	return n, endOfFile(err)
}

// readLeftover reads after the end of the shell.
func (t *Terminal) readLeftover(p []byte) (int, error) {
	if t.left == 0 {
		return 0, io.EOF
	}
	t.expectQuiet()
	n, err := t.master.Read(p[:min(len(p), t.left)])
	t.left -= n
	return n, endOfFile(err)
}

// endOfFile returns [io.EOF] for the errors that mean it. Linux reports EIO when nobody has the terminal open.
func endOfFile(err error) error {
	for _, one := range []error{syscall.EIO, os.ErrClosed, os.ErrDeadlineExceeded} {
		if errors.Is(err, one) {
			return io.EOF
		}
	}
	return err
}

// expectQuiet ends Read, unless there is output.
func (t *Terminal) expectQuiet() { _ = t.master.SetReadDeadline(time.Now().Add(quiet)) } // fails after Close, and where Read cannot be interrupted

// Write passes on what the user types. It waits while the programs do not read.
func (t *Terminal) Write(p []byte) (int, error) { return t.master.Write(p) }

// Resize changes the size. It ignores impossible ones.
func (t *Terminal) Resize(s Size) {
	if s.Columns < 1 || s.Rows < 1 || s.Columns > MaxSize || s.Rows > MaxSize {
		return
	}
	_ = pty.Setsize(t.master, &pty.Winsize{Cols: uint16(s.Columns), Rows: uint16(s.Rows)}) // fails after Close only
}

// Ended returns a channel that is closed when the shell has ended.
func (t *Terminal) Ended() <-chan struct{} { return t.process.Exited() }

// Outcome describes how the shell ended. Call it only after Ended is closed.
func (t *Terminal) Outcome() string { return t.process.State() }

// PID returns the process id of the shell.
func (t *Terminal) PID() int { return t.process.PID() }

// Close ends the shell and everything that it started, and returns when they have ended.
func (t *Terminal) Close() { t.close() }

// end closes the terminal, which the kernel tells the shell and the program in the foreground, and ends what is left.
func (t *Terminal) end() {
	_ = t.master.Close() // what is unread is lost
	select {
	case <-t.process.Exited():
	case <-time.After(hangUp):
	}
	t.process.KillAll()
	t.ending.Wait()
}
