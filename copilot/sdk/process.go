package sdk

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
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
	command *exec.Cmd
	address string // host:port where it listens
	token   string // that it wants there
	mark    string // in the environment of the CLI and of all that it starts
	words   *tail
	gone    chan struct{} // closed when it has ended
	err     error         // how; valid once gone is closed
}

// markVariable carries the mark.
const markVariable = "COPILOT_PORTAL_AGENT"

// startProcess starts the CLI and waits until it listens.
func startProcess(ctx context.Context, path string, env []string) (*process, error) {
	p := &process{
		command: exec.Command(path, "--headless", "--no-auto-update", "--port", "0"), //nolint:noctx // what the user configured; it outlives ctx
		token:   rand.Text(),
		mark:    rand.Text(),
		words:   &tail{},
		gone:    make(chan struct{}),
	}
	p.command.Env = append(slices.Clone(env),
		"COPILOT_CONNECTION_TOKEN="+p.token, "COPILOT_AUTO_UPDATE=false", markVariable+"="+p.mark)
	p.command.Stderr = p.words
	p.command.WaitDelay = time.Second // a grandchild may hold its pipes open
	p.command.SysProcAttr = ownGroup()
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	listening := make(chan string, 1)
	go func() { listening <- readPort(out, p.words) }()
	select {
	case port := <-listening:
		if port != "" {
			p.address = "127.0.0.1:" + port
			go io.Copy(io.Discard, out) //nolint:errcheck // ends with the process
			return p, nil
		}
		err = errors.New("it ended before it listened")
	case <-ctx.Done():
		err = fmt.Errorf("it did not listen in time: %w", ctx.Err())
	}
	p.kill()
	<-p.gone
	p.endChildren()
	return nil, errors.Join(err, p.lastWords())
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

var listens = regexp.MustCompile(`listening on port (\d+)`)

// readPort reads the CLI's output up to the line that tells its port; "" if it
// ends without. What comes before may say why.
func readPort(out io.Reader, words io.Writer) string {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			return m[1]
		}
		_, _ = words.Write(append(lines.Bytes(), '\n'))
	}
	return ""
}

func (p *process) pid() int { return p.command.Process.Pid }

// terminate asks the process to end.
func (p *process) terminate() { signalGently(p.command.Process) }

// kill ends the process at once.
func (p *process) kill() { _ = p.command.Process.Kill() } // it may have ended already

// lastWords is what the process wrote to stderr, nil if nothing.
func (p *process) lastWords() error {
	if s := strings.TrimSpace(p.words.String()); s != "" {
		return errors.New(s)
	}
	return nil
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
