package ndjson

import (
	"io"
	"log/slog"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/event"
)

// Program is a program inside the test.
type Program struct {
	In              io.WriteCloser
	Out             io.ReadCloser
	Gone            <-chan struct{}
	Terminate, Kill func()
}

func starter(start func() (Program, error)) func() (*program, error) {
	return func() (*program, error) {
		p, err := start()
		return &program{
			in: p.In, out: p.Out, gone: p.Gone, terminate: p.Terminate, kill: p.Kill, clean: func() {},
			how: func() string { return "the program has ended" }, memory: func() int64 { return 0 }, activity: func() process.Activity { return process.Activity{} },
		}, err
	}
}

// ClientOf returns a client of programs created by start.
func ClientOf(start func() (Program, error), log *slog.Logger) *Client {
	return newClient(starter(start), log)
}

// LaunchOf returns a launch of programs created by start.
func LaunchOf(start func() (Program, error), log *slog.Logger) agent.Launch {
	d := &Driver{name: "fake", start: starter(start), find: func() error { return nil }, log: log}
	return d.Launch
}

// Left returns how many unanswered requests of an agent are abandoned.
func (a *Agent) Left() int {
	a.link.mu.Lock()
	defer a.link.mu.Unlock()
	return len(a.link.abandoned)
}

// Message returns a prompt as sent to the program.
func Message(p event.Prompt) (string, error) { return (&Agent{}).message(p) }
