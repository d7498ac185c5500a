package sdk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// process is a running CLI.
type process struct {
	command  *exec.Cmd
	address  string // host:port where it listens
	token    string // that it wants there
	mark     string // in the environment of the CLI and of all that it starts
	greeting *greeting
	words    *tail
	gone     chan struct{} // closed when it has ended
	err      error         // how; valid once gone is closed
}

// markVariable carries the mark.
const markVariable = "COPILOT_PORTAL_AGENT"

// pipeDelay is how long the end of the process may wait for what it wrote: one
// that it started may hold its pipes open.
const pipeDelay = 200 * time.Millisecond

// startProcess starts the CLI and waits until it listens.
func startProcess(ctx context.Context, path string, env []string) (*process, error) {
	p := &process{
		command:  exec.Command(path, "--headless", "--no-auto-update", "--port", "0"), //nolint:noctx // what the user configured; it outlives ctx
		token:    rand.Text(),
		mark:     rand.Text(),
		greeting: &greeting{port: make(chan string, 1)},
		words:    &tail{},
		gone:     make(chan struct{}),
	}
	p.command.Env = append(slices.Clone(env),
		"COPILOT_CONNECTION_TOKEN="+p.token, "COPILOT_AUTO_UPDATE=false",
		markVariable+"="+p.mark, ownerVariable+"="+owner())
	p.command.Stdout, p.command.Stderr = p.greeting, p.words
	p.command.WaitDelay = pipeDelay
	p.command.SysProcAttr = ownGroup()
	if err := p.start(); err != nil {
		return nil, err
	}
	var err error
	select {
	case port := <-p.greeting.port:
		p.address = "127.0.0.1:" + port
		return p, nil
	case <-p.gone:
		err = fmt.Errorf("it ended before it listened (%s)", p.command.ProcessState)
	case <-ctx.Done():
		err = fmt.Errorf("it did not listen in time: %w", ctx.Err())
	}
	p.end()
	return nil, p.explain(err)
}

// start runs the command on a thread that lives as long as the process: on
// Linux the kernel ends the CLI when the thread that started it ends, so that
// it cannot outlive us even if we are killed.
func (p *process) start() error {
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
		close(p.gone)
	}()
	return <-started
}

// during gives a context that ends with the process, too: a dead CLI answers
// nothing, and the SDK would wait.
func (p *process) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (p *process) hasEnded() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *process) pid() int { return p.command.Process.Pid }

// terminate asks the process to end.
func (p *process) terminate() { signalGently(p.command.Process) }

// kill ends the process at once.
func (p *process) kill() {
	if !p.hasEnded() {
		killGroup(p.command.Process)
	}
}

// end ends the process at once and all that it started.
func (p *process) end() {
	p.kill()
	<-p.gone
	p.endChildren()
}

// explain adds to an error what the process said, which may be the reason.
func (p *process) explain(err error) error {
	said := []*tail{p.words}
	if p.address == "" {
		said = append(said, &p.greeting.tail)
	}
	for _, t := range said {
		if s := strings.TrimSpace(t.String()); s != "" {
			err = errors.Join(err, errors.New(s))
		}
	}
	return err
}

// greeting takes the CLI's output and looks in it for the line that tells its port.
type greeting struct {
	tail
	port  chan string // takes the port, once; has room for it
	found bool        // used by Write alone
}

var listens = regexp.MustCompile(`listening on port (\d+)\r?\n`)

// Write never fails and never waits.
func (g *greeting) Write(b []byte) (int, error) {
	if g.found {
		return len(b), nil
	}
	_, _ = g.tail.Write(b) // never fails
	if m := listens.FindStringSubmatch(g.String()); m != nil {
		g.found = true
		g.port <- m[1]
	}
	return len(b), nil
}

// tail keeps the last 2 KiB that are written to it. It may be used concurrently.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailSize = 2 << 10

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, b...)
	if n := len(t.data) - tailSize; n > 0 {
		t.data = slices.Delete(t.data, 0, n)
	}
	return len(b), nil
}

// String gives what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
