package portaltest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/copilot-portal/portal/copilot/testclock"
)

// Stream is a UI on the standard streams of its own portal.
type Stream struct {
	*UI

	Home string // its COPILOT_HOME
	Dir  string // its working directory
	PID  int

	process *process
}

// process is `portal stdio`.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     io.Closer
	lines   *bufio.Reader
	stderr  *safeBuffer
	writing sync.Mutex
	closeIn func() error
	exited  chan struct{}
	waited  atomic.Bool
	killed  atomic.Bool
}

// Stdio starts `portal stdio` with arguments. The end of the test closes its input. The test fails if the
// portal does not end cleanly or leaves a process behind, unless it was killed or waited for.
func Stdio(tb testing.TB, args ...string) *Stream {
	tb.Helper()
	return StdioWith(tb, Options{Args: args})
}

// StdioWith is like Stdio, with options.
func StdioWith(tb testing.TB, o Options) *Stream {
	tb.Helper()
	if o.Home == "" {
		o.Home = tb.TempDir()
	}
	p := &process{stderr: &safeBuffer{}, exited: make(chan struct{})}
	args := append([]string{"stdio", "--debug"}, configured(tb, o)...)
	p.command = exec.Command(Binary(tb), args...) //nolint:gosec,noctx // the program under test, which ends with its input
	p.command.Env = append(Environ(o.Home), o.Env...)
	p.command.Stderr = p.stderr
	p.command.Dir = tb.TempDir()
	p.start(tb)
	s := &Stream{UI: newUI(tb, p), Home: o.Home, Dir: p.command.Dir, PID: p.command.Process.Pid, process: p}
	tb.Cleanup(s.finish)
	return s
}

func (p *process) start(tb testing.TB) {
	tb.Helper()
	in, err := p.command.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	p.in, p.out, p.lines, p.closeIn = in, out, bufio.NewReader(out), sync.OnceValue(in.Close)
	endOnHangup()
	if err := p.command.Start(); err != nil {
		tb.Fatal(err)
	}
}

// SendLong sends a line with a number of letters between its head and its tail. It is validated without them, and never in memory, because the
// race detector slows both down.
func (s *Stream) SendLong(head string, letters int64, tail string) {
	s.tb.Helper()
	s.talks.Sent([]byte(head + tail))
	p := s.process
	p.writing.Lock()
	defer p.writing.Unlock()
	line := io.MultiReader(strings.NewReader(head), io.LimitReader(endless(strings.Repeat("x", 32<<10)), letters), strings.NewReader(tail+"\n"))
	if _, err := io.Copy(p.in, line); err != nil {
		s.tb.Errorf("cannot send a long line: %v", err)
	}
}

// endless is a text that repeats without end.
type endless string

// Read never fails.
func (e endless) Read(b []byte) (int, error) { return copy(b, e), nil }

func (p *process) send(line string) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// receive also waits for the process at the end, because Wait closes the output, which must be read first.
func (p *process) receive() (string, error) {
	line, err := p.lines.ReadString('\n')
	if err == nil {
		return strings.TrimSuffix(line, "\n"), nil
	}
	if line != "" {
		err = fmt.Errorf("the last line has no end: %q", line)
	}
	go func() {
		_ = p.command.Wait() // its code is in ProcessState
		close(p.exited)
	}()
	return "", err
}

func (p *process) closeInput() error { return p.closeIn() }

func (p *process) wait(within time.Duration) (code int, err error) {
	p.waited.Store(true)
	if testclock.Now().Wait(p.exited, within) {
		return p.command.ProcessState.ExitCode(), nil
	}
	_ = p.command.Process.Signal(syscall.SIGQUIT) // prints where it hangs
	return -1, fmt.Errorf("portal stdio did not end within %v; stderr:\n%s", within, p.stderr)
}

// finish stops the portal unless the test has done so.
func (s *Stream) finish() {
	s.tb.Helper()
	if s.process.killed.Load() {
		return
	}
	s.drop()
	if !s.process.waited.Load() {
		s.CloseInput()
		if code := s.Wait(); code != 0 {
			s.tb.Errorf("portal stdio ended with code %d", code)
		}
	}
	if left := s.Children(); len(left) > 0 {
		s.tb.Errorf("portal stdio left processes behind: %v", left)
	}
	if s.tb.Failed() {
		s.tb.Logf("stderr of portal stdio:\n%s", s.Stderr())
	}
}

// CloseOutput closes the reading end of the portal's standard output, as the end of its parent does. Nothing
// more can be received.
func (s *Stream) CloseOutput() { _ = s.process.out.Close() }

// Signal sends a signal to the portal.
func (s *Stream) Signal(signal os.Signal) {
	s.tb.Helper()
	if err := s.process.command.Process.Signal(signal); err != nil {
		s.tb.Error(err)
	}
}

// Kill kills the portal with SIGKILL and waits for its end.
func (s *Stream) Kill() {
	s.tb.Helper()
	s.process.killed.Store(true)
	s.drop()
	_ = s.process.command.Process.Kill()
	s.Wait()
}

// Stderr returns what the portal has written to standard error so far.
func (s *Stream) Stderr() string { return s.process.stderr.String() }

// Children lists the running processes that the portal started; see [Portal.Children].
func (s *Stream) Children() []Process { s.tb.Helper(); return childrenOf(s.tb, s.PID) }
