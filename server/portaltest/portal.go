// Package portaltest starts bin/portal for end-to-end tests and acts as its client.
package portaltest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/copilot-portal/portal/copilot/testclock"
)

// Options of a portal under test.
type Options struct {
	Args   []string // besides --port 0
	Config string   // of its configuration file, in YAML; "" for none
	Env    []string // "KEY=VALUE"; overrides the private environment
	Home   string   // of another portal, to share or continue its data; "" for a new one
	Binary string   // path of the program; "" for bin/portal
}

// Portal is a running portal with a private Copilot home. It stops at the end of its test, which fails if the
// portal does not stop cleanly or leaves a process behind.
type Portal struct {
	URL  string // without a slash at the end
	Port string
	Home string // its COPILOT_HOME
	PID  int

	t       testing.TB
	options Options
	command *exec.Cmd
	stdout  *safeBuffer
	stderr  *safeBuffer
	exited  chan struct{}
	stop    func()
}

// Start starts a portal on a free port and waits until it is open.
func Start(tb testing.TB, o Options) *Portal {
	tb.Helper()
	if o.Home == "" {
		o.Home = tb.TempDir()
	}
	if o.Binary == "" {
		o.Binary = Binary(tb)
	}
	p := &Portal{t: tb, options: o, Home: o.Home, stdout: &safeBuffer{}, stderr: &safeBuffer{}, exited: make(chan struct{})}
	args := append([]string{"--port", "0", "--debug"}, configured(tb, o)...)
	p.command = exec.Command(o.Binary, args...) //nolint:gosec,noctx // the program under test, which is stopped by signals
	p.command.Env = Environ(o.Home)
	p.command.Env = append(p.command.Env, o.Env...)
	p.command.Stderr = p.stderr
	p.command.Dir = tb.TempDir()
	out, err := p.command.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	endOnHangup()
	if err := p.command.Start(); err != nil {
		tb.Fatal(err)
	}
	p.PID = p.command.Process.Pid
	p.stop = sync.OnceFunc(func() { p.shutdown(syscall.SIGTERM) })
	tb.Cleanup(p.Stop)
	p.waitOpen(out)
	return p
}

// configured returns the arguments, including the one for the configuration file if there is one.
func configured(tb testing.TB, o Options) []string {
	tb.Helper()
	if o.Config == "" {
		return o.Args
	}
	path := filepath.Join(tb.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(o.Config), 0o600); err != nil {
		tb.Fatal(err)
	}
	return append(slices.Clone(o.Args), "--config", path)
}

// Restart starts a portal with the options and the data of p, which must have ended.
func (p *Portal) Restart() *Portal { p.t.Helper(); return Start(p.t, p.options) }

// For returns the portal for another test, such as a subtest, which then fails instead.
func (p *Portal) For(tb testing.TB) *Portal {
	tb.Helper()
	other := *p
	other.t = tb
	return &other
}

// DataDir returns the default data directory of the portal.
func (p *Portal) DataDir() string { return filepath.Join(p.Home, "copilot-portal") }

// Environ returns an environment without the user's settings and shell startup files, for which the CLI waits.
// The CLI unpacks itself into the user's cache only once. It gets long time limits, for busy machines, and no account:
// with one, see [WithAccount], it starts gh four times for each session and twice for each prompt.
func Environ(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PORTAL_") || strings.HasPrefix(v, "COPILOT_PORTAL_DEPTH=")
	})
	env = append(env, "HOME="+home, "COPILOT_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "PORTAL_POOL_START_TIMEOUT=2m", "PORTAL_POOL_SILENCE_LIMIT=2m", "PORTAL_ACCOUNT=false")
	if cache, err := os.UserCacheDir(); err == nil {
		env = append(env, "XDG_CACHE_HOME="+cache)
	}
	if root, err := checkout(); err == nil {
		path := os.Getenv("PATH") //nolint:forbidigo // for a child process
		env = append(env, "PATH="+filepath.Join(root, "server", "portaltest", "signedout")+string(os.PathListSeparator)+path)
	}
	return env
}

// WithAccount is the variable with which the CLI looks for an account of GitHub, as it does for users. It finds a gh that is not signed in:
// without one, it searches again and again.
const WithAccount = "PORTAL_ACCOUNT=true"

// checkout returns the root directory of the project.
func checkout() (root string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the test's directory")
		}
		dir = filepath.Dir(dir)
	}
}

// waitOpen reads the port line, as an IDE does.
func (p *Portal) waitOpen(out io.Reader) {
	p.t.Helper()
	line := make(chan string, 1)
	out = io.TeeReader(out, p.stdout)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		line <- text
		_, _ = io.Copy(io.Discard, out)
		_ = p.command.Wait() // its code is in ProcessState
		close(p.exited)
	}()
	select {
	case text := <-line:
		port, ok := strings.CutPrefix(strings.TrimSpace(text), "SIDECAR_PORT=")
		if !ok {
			p.t.Fatalf("%q is not a port line; stderr:\n%s", text, p.stderr)
		}
		p.Port, p.URL = port, "http://localhost:"+port
	case <-time.After(patience):
		p.t.Fatalf("no port line within %v; stderr:\n%s", patience, p.stderr)
	}
}

// Stop stops the portal with SIGTERM and checks that it stops cleanly. It may be called repeatedly.
func (p *Portal) Stop() { p.t.Helper(); p.stop() }

func (p *Portal) shutdown(s os.Signal) {
	p.t.Helper()
	_ = p.command.Process.Signal(s) // fails if the portal has ended, which WaitExit checks
	p.WaitExit(5 * time.Second)
	if p.t.Failed() {
		p.t.Logf("stderr of the portal:\n%s", p.stderr)
	}
}

// WaitExit waits until the portal has ended, and checks that its exit code is 0 and that no process is left. d
// is measured by a [testclock.Clock].
func (p *Portal) WaitExit(d time.Duration) {
	p.t.Helper()
	if !testclock.Now().Wait(p.exited, d) {
		p.t.Errorf("the portal did not end within %v", d)
		_ = p.command.Process.Signal(syscall.SIGQUIT) // so that its standard error shows what it waits for
		if !testclock.Now().Wait(p.exited, d) {
			_ = p.command.Process.Kill()
		}
		<-p.exited
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("the portal ended with code %d", code)
	}
	if left := p.Children(); len(left) > 0 {
		p.t.Errorf("the portal left processes behind: %v", left)
	}
}

// Kill kills the portal with SIGKILL and waits for its end.
func (p *Portal) Kill() {
	p.stop = func() {}
	_ = p.command.Process.Kill()
	<-p.exited
}

// ExitCode returns the exit code of a portal that has ended, or -1 if a signal killed it.
func (p *Portal) ExitCode() int { return p.command.ProcessState.ExitCode() }

// Stdout returns what the portal has written to standard output so far.
func (p *Portal) Stdout() string { return p.stdout.String() }

// Stderr returns what the portal has written to standard error so far.
func (p *Portal) Stderr() string { return p.stderr.String() }

// Process is a process that a portal started, directly or indirectly.
type Process struct {
	PID     int
	Parent  int
	Command string
}

// Children lists the running processes that the portal started, directly or indirectly, by the owner in their
// environment. It omits killed ones, which take a while to end on a busy machine. Linux only.
func (p *Portal) Children() []Process { p.t.Helper(); return childrenOf(p.t, p.PID) }

func childrenOf(tb testing.TB, owner int) []Process {
	tb.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		tb.Fatal(err)
	}
	var list []Process
	for _, f := range files {
		env, err := os.ReadFile(f) //nolint:gosec // of /proc
		if err != nil || !bytes.Contains(env, fmt.Appendf(nil, "\x00COPILOT_PORTAL_OWNER=%d.", owner)) || hasEnded(filepath.Dir(f)) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(f, "/proc/%d/environ", &pid); err != nil {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		list = append(list, Process{pid, parent(filepath.Dir(f)), strings.TrimSpace(string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))})
	}
	return list
}

// hasEnded reports whether the process with a directory in /proc has ended or been killed.
func hasEnded(dir string) bool {
	status, _ := os.ReadFile(filepath.Join(dir, "status")) //nolint:gosec // of /proc; empty if the process has ended
	_, rest, found := bytes.Cut(status, []byte("\nSigPnd:"))
	var pending uint64
	_, _ = fmt.Sscanf(string(rest), "%x", &pending)
	return !found || bytes.Contains(status, []byte("\nState:\tZ")) || pending&(1<<(syscall.SIGKILL-1)) != 0
}

// parent returns the parent of the process with a directory in /proc, or 0 if the process has ended.
func parent(dir string) (pid int) {
	stat, _ := os.ReadFile(filepath.Join(dir, "stat")) //nolint:gosec // of /proc
	_, rest, _ := strings.Cut(string(stat), ") ")
	_, _ = fmt.Sscanf(rest, "%1s %d", new(string), &pid)
	return pid
}

// Agents lists the processes of the Copilot CLI. It omits forks of these that have not yet started their own
// program.
func (p *Portal) Agents() []Process {
	var list []Process
	for _, c := range p.Children() {
		if strings.Contains(c.Command, "--headless") {
			list = append(list, c)
		}
	}
	all := slices.Clone(list)
	return slices.DeleteFunc(list, func(c Process) bool {
		return slices.ContainsFunc(all, func(a Process) bool { return a.PID == c.Parent })
	})
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
