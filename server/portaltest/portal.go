// Package portaltest starts bin/portal for end-to-end tests and talks to it as a
// client would.
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
)

// Options of a portal under test.
type Options struct {
	Args   []string // besides --port 0
	Config string   // of its configuration file, in YAML; "" for none
	Env    []string // "KEY=VALUE", over those that keep it apart from the user's
	Home   string   // that of another portal, to share or to go on with what is there; "" for a fresh one
}

// Portal is a running portal with a private Copilot home. The test that started
// it stops it at its end and fails if it does not stop cleanly or leaves a
// process behind.
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
	p := &Portal{t: tb, options: o, Home: o.Home, stdout: &safeBuffer{}, stderr: &safeBuffer{}, exited: make(chan struct{})}
	args := append([]string{"--port", "0", "--debug"}, configured(tb, o)...)
	p.command = exec.Command(Binary(tb), args...) //nolint:gosec,noctx // the program under test, which is stopped by signals
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

// configured are the arguments, and that of the configuration file if there is one.
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

// Restart starts a portal like one that has ended, on what it left.
func (p *Portal) Restart() *Portal { p.t.Helper(); return Start(p.t, p.options) }

// For is the same portal for another test, such as a part of the one that started
// it, which fails if something does not work.
func (p *Portal) For(tb testing.TB) *Portal {
	tb.Helper()
	other := *p
	other.t = tb
	return &other
}

// DataDir is where it keeps its sessions, unless it was told another place.
func (p *Portal) DataDir() string { return filepath.Join(p.Home, "copilot-portal") }

// Environ is the environment of a process that finds nothing of the user's but
// what is installed: no settings, and nothing that his shell does when it starts,
// which the CLI waits for. The CLI unpacks itself into the cache, once for all, and
// may take its time to start and to answer, on a machine that has much else to do. It finds a gh that nobody is signed in to:
// where there is none it looks for one again and again, which takes it a quarter of its time.
func Environ(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PORTAL_") })
	env = append(env, "HOME="+home, "COPILOT_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "PORTAL_POOL_START_TIMEOUT=2m", "PORTAL_POOL_SILENCE_LIMIT=2m")
	if cache, err := os.UserCacheDir(); err == nil {
		env = append(env, "XDG_CACHE_HOME="+cache)
	}
	if root, err := checkout(); err == nil {
		path := os.Getenv("PATH") //nolint:forbidigo // goes on to a process
		env = append(env, "PATH="+filepath.Join(root, "server", "portaltest", "signedout")+string(os.PathListSeparator)+path)
	}
	return env
}

// checkout is the directory of the project that the test runs in.
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
			p.t.Fatalf("no port line but %q; stderr:\n%s", text, p.stderr)
		}
		p.Port, p.URL = port, "http://localhost:"+port
	case <-time.After(patience):
		p.t.Fatalf("no port line in %v; stderr:\n%s", patience, p.stderr)
	}
}

// Stop ends the portal with SIGTERM and checks how it ended. It may be called
// more than once.
func (p *Portal) Stop() { p.t.Helper(); p.stop() }

func (p *Portal) shutdown(s os.Signal) {
	p.t.Helper()
	_ = p.command.Process.Signal(s) // it may have ended by itself, which is checked alike
	p.WaitExit(5 * time.Second)
	if p.t.Failed() {
		p.t.Logf("stderr of the portal:\n%s", p.stderr)
	}
}

// WaitExit waits for the portal to end by itself, with code 0 and no process left. The limit is that of a [Clock].
func (p *Portal) WaitExit(d time.Duration) {
	p.t.Helper()
	if !Now().Wait(p.exited, d) {
		_ = p.command.Process.Kill()
		p.t.Errorf("the portal did not end within %v", d)
		<-p.exited
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("the portal ended with code %d", code)
	}
	if left := p.Children(); len(left) > 0 {
		p.t.Errorf("the portal left processes behind: %v", left)
	}
}

// Kill ends the portal with SIGKILL and returns when it has ended.
func (p *Portal) Kill() {
	p.stop = func() {}
	_ = p.command.Process.Kill()
	<-p.exited
}

// Stdout is what the portal has written there so far.
func (p *Portal) Stdout() string { return p.stdout.String() }

// Stderr is what the portal has written there so far.
func (p *Portal) Stderr() string { return p.stderr.String() }

// Process is one that the portal started, or one of its descendants.
type Process struct {
	PID     int
	Parent  int
	Command string
}

// Children lists the living processes that came from this portal, wherever they
// were moved to: they have it as their owner in their environment. Linux only.
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
		if err != nil || !bytes.Contains(env, fmt.Appendf(nil, "\x00COPILOT_PORTAL_OWNER=%d.", owner)) {
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

// parent is the one of a process, by its directory in /proc; 0 if it has ended.
func parent(dir string) (pid int) {
	stat, _ := os.ReadFile(filepath.Join(dir, "stat")) //nolint:gosec // of /proc
	_, rest, _ := strings.Cut(string(stat), ") ")
	_, _ = fmt.Sscanf(rest, "%1s %d", new(string), &pid)
	return pid
}

// Agents lists the processes of the Copilot CLI. Those that one of them has just
// forked, to start something else, look like it and are left out.
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
