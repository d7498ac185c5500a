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
)

// Stream is a UI on the standard streams of a portal of its own.
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

// Stdio starts `portal stdio` with arguments. The test that started it ends it by
// its input, and fails if it does not end cleanly or leaves a process behind,
// unless it was killed or waited for.
func Stdio(tb testing.TB, args ...string) *Stream {
	tb.Helper()
	return StdioWith(tb, Options{Args: args})
}

// StdioWith is Stdio with more to choose from.
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

func (p *process) send(line string) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// receive also takes note of the end: the output must not be closed before it was
// read.
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
	if Now().Wait(p.exited, within) {
		return p.command.ProcessState.ExitCode(), nil
	}
	_ = p.command.Process.Signal(syscall.SIGQUIT) // which tells where it hangs
	return -1, fmt.Errorf("portal stdio did not end within %v; stderr:\n%s", within, p.stderr)
}

// finish ends what the test has not ended.
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

// CloseOutput ends the reading of its standard output, as a parent does that is
// gone. Nothing can be received any more.
func (s *Stream) CloseOutput() { _ = s.process.out.Close() }

// Signal sends a signal to it.
func (s *Stream) Signal(signal os.Signal) {
	s.tb.Helper()
	if err := s.process.command.Process.Signal(signal); err != nil {
		s.tb.Error(err)
	}
}

// Kill ends it with SIGKILL and returns when it has ended.
func (s *Stream) Kill() {
	s.tb.Helper()
	s.process.killed.Store(true)
	s.drop()
	_ = s.process.command.Process.Kill()
	s.Wait()
}

// Stderr is what it has written there so far.
func (s *Stream) Stderr() string { return s.process.stderr.String() }

// Children lists the living processes that came from it; see [Portal.Children].
func (s *Stream) Children() []Process { s.tb.Helper(); return childrenOf(s.tb, s.PID) }
