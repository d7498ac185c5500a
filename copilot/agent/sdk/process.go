package sdk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/sandbox"
)

// child is a running CLI process.
type child struct {
	*process.Process
	address  string // host:port on which it listens
	token    string // token that it requires
	greeting *portWatcher
	stderr   *process.Tail
	release  func() // releases its resources at its end
}

// startProcess starts the CLI and waits until it listens.
func startProcess(ctx context.Context, line, env []string, box *sandbox.Sandbox) (*child, error) {
	p := &child{token: rand.Text(), release: func() {}, greeting: &portWatcher{port: make(chan string, 1)}, stderr: &process.Tail{}}
	if box != nil {
		var err error
		if line, err = box.Command(line...); err != nil {
			return nil, err
		}
	}
	command := exec.Command(line[0], line[1:]...) //nolint:gosec,noctx // configured by the user; it outlives ctx
	command.Env = append(slices.Clone(env), "COPILOT_CONNECTION_TOKEN="+p.token, "COPILOT_AUTO_UPDATE=false")
	command.Stdout, command.Stderr = p.greeting, p.stderr
	var err error
	if p.Process, err = process.Start(command); err != nil {
		return nil, err
	}
	select {
	case port := <-p.greeting.port:
		if box != nil {
			p.Unwrap()
		}
		if p.address, err = addressOf(ctx, port, box); err == nil {
			return p, nil
		}
	case <-p.Exited():
		err = fmt.Errorf("it ended before it listened (%s)", p.State())
	case <-ctx.Done():
		err = fmt.Errorf("it did not listen in time: %w", ctx.Err())
	}
	p.KillAll()
	return nil, p.explain(err)
}

// addressOf returns the address at which the portal reaches a CLI that listens on a port of its loopback.
func addressOf(ctx context.Context, port string, box *sandbox.Sandbox) (string, error) {
	if box == nil || box.Gate == nil {
		return "127.0.0.1:" + port, nil
	}
	return box.Gate.Connect(ctx, port)
}

// explain adds the output of the process to an error, because it may contain the reason.
func (p *child) explain(err error) error {
	outputs := []*process.Tail{p.stderr}
	if p.address == "" {
		outputs = append(outputs, &p.greeting.Tail)
	}
	for _, t := range outputs {
		if s := strings.TrimSpace(t.String()); s != "" {
			err = errors.Join(err, errors.New(s))
		}
	}
	return err
}

// portWatcher receives the CLI's output and extracts its port.
type portWatcher struct {
	process.Tail
	port  chan string // receives the port once; buffered
	found bool        // used only by Write
}

var listens = regexp.MustCompile(`listening on port (\d+)\r?\n`)

// Write never fails or blocks.
func (g *portWatcher) Write(b []byte) (int, error) {
	if g.found {
		return len(b), nil
	}
	_, _ = g.Tail.Write(b) // never fails
	if m := listens.FindStringSubmatch(g.String()); m != nil {
		g.found = true
		g.port <- m[1]
	}
	return len(b), nil
}
