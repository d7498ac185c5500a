package ndjson

import (
	"context"
	"io"
	"log/slog"
	"time"

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

// LaunchOf returns a launch of programs created by start.
func LaunchOf(start func() (Program, error), log *slog.Logger) agent.Launch {
	d := New(Options{Command: []string{"fake"}, Log: log})
	d.start = starter(start)
	return d.Launch
}

// Chat sends a message of a tab to the program of an agent and returns the answer. Chunk gets its pieces.
func Chat(ctx context.Context, a agent.Agent, tab, text string, chunk func(attempt int, text string)) (string, error) {
	r, err := a.(*Agent).chat(ctx, tab, text, chunk, func(int, error, bool, time.Duration) {})
	return r.Message, err
}

// Message returns a prompt as sent to the program.
func Message(p event.Prompt) (string, error) { return (&Agent{}).message(p) }
