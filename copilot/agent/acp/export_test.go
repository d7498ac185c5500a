package acp

import (
	"encoding/json"
	"io"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/event"
)

// Kill kills the process of an agent.
func Kill(a agent.Agent) {
	if one, ok := a.(*Agent); ok {
		one.link.Program.Kill()
	}
}

// NewOf returns a driver of programs inside the test. They read from in and write to out; end ends them.
func NewOf(o Options, start func() (in io.WriteCloser, out io.ReadCloser, gone <-chan struct{}, end func())) *Driver {
	d := New(o)
	d.start = func() (*stdio.Program, error) {
		in, out, gone, end := start()
		return &stdio.Program{
			In: in, Out: out, Gone: gone, Terminate: end, Kill: end, Clean: func() {},
			How: func() string { return "" }, Exit: func() string { return "" },
			Memory: func() int64 { return 0 }, Activity: func() process.Activity { return process.Activity{} },
		}, nil
	}
	return d
}

// Normalized returns the name and the arguments of a tool call in the form of the Copilot CLI.
func Normalized(raw string) (name, arguments string, err error) {
	u, err := decode[toolUpdate](json.RawMessage(raw))
	name, b := u.normalized()
	return name, string(b), err
}

// Described returns the question for the permission for a tool call in a directory.
func Described(raw, directory string) (event.Question, error) {
	u, err := decode[toolUpdate](json.RawMessage(raw))
	q, _ := (&toolCall{toolUpdate: u}).question("x", directory)
	return q, err
}

// Chosen returns the option that answers a request for permission; "" cancels it.
func Chosen(raw string, approved bool) (string, error) {
	options, err := decode[[]acp.PermissionOption](json.RawMessage(raw))
	return choose(options, optionKinds(approved)...).Option, err
}

// Environ returns the environment of the program.
func (d *Driver) Environ() ([]string, error) {
	c, err := d.command()
	return c.Env, err
}

// Translate passes updates to a conversation during a turn.
func Translate(sink agent.Sink, updates ...[]byte) {
	c := &conversation{agent: &Agent{Limited: agent.Limited{Name: "fuzzed"}, driver: New(Options{Name: "fuzzed", Command: []string{"x"}, Saved: "/nonexistent"})}, sink: sink, questions: map[string]*openQuestion{}}
	t, _ := c.beginTurn() // it is idle
	for _, u := range updates {
		_ = c.update(u) // an invalid one is reported to the agent
	}
	c.endTurn(t, acp.PromptResult{}, nil)
}

// Saved returns the directory of a driver.
func (d *Driver) Saved() string { return d.saved.directory }
