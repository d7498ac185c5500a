package ndjson

import (
	"io"
	"log/slog"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/event"
)

// Program is a program inside the test.
type Program struct {
	In              io.WriteCloser
	Out             io.ReadCloser
	Gone            <-chan struct{}
	Terminate, Kill func()
}

func starter(start func() (Program, error)) func() (*stdio.Program, error) {
	return func() (*stdio.Program, error) {
		p, err := start()
		return &stdio.Program{
			In: p.In, Out: p.Out, Gone: p.Gone, Terminate: p.Terminate, Kill: p.Kill, Clean: func() {},
			How: func() string { return "the program has ended" }, Memory: func() int64 { return 0 }, Activity: func() process.Activity { return process.Activity{} },
		}, err
	}
}

// ClientOf returns a client of programs created by start.
func ClientOf(start func() (Program, error), log *slog.Logger) *Client {
	return newClient(starter(start), log)
}

// LaunchOf returns a launch of programs created by start.
func LaunchOf(start func() (Program, error), log *slog.Logger) agent.Launch {
	d := New(Options{Command: []string{"fake"}, Log: log})
	d.start = starter(start)
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
