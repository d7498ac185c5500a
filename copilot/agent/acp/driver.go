// Package acp drives any program that is an agent of the Agent Client Protocol on its standard streams. spec/agents.md
// describes what such agents can do in the portal.
package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// Options configures an agent. Zero fields have the defaults named.
type Options struct {
	Name    string       // of the agent; required. The ids of its models begin with it and a slash
	Command []string     // program and arguments; required
	Env     []string     // "KEY=VALUE"; default: that of the portal
	Saved   string       // directory that keeps which conversation belongs to which session; required
	Auth    string       // id of the method to sign in with before the first session; "": none
	Version string       // version of the portal, for the agent; default "dev"
	Log     *slog.Logger // names the agent; nil disables logging

	// TrustDirectories makes a known agent use what a working directory brings for it: hooks, plugins, MCP servers, permissions. They can run
	// commands without asking.
	TrustDirectories bool
}

// Driver starts processes of an agent and keeps the result of the last start. Its methods may be called concurrently.
type Driver struct {
	options   Options
	preset    Preset
	saved     savedSessions
	start     func() (*stdio.Program, error)
	last      agent.LastStart
	processes process.Set

	mu     sync.Mutex
	models []agent.Model // nil until a session was opened
}

// New returns a driver. It does not start the program yet.
func New(o Options) *Driver {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Version = cmp.Or(o.Version, "dev")
	d := &Driver{options: o, preset: o.preset(), saved: savedSessions{o.Saved}}
	d.models = d.saved.models()
	d.start = func() (*stdio.Program, error) {
		c, err := d.command()
		if err != nil {
			return nil, err
		}
		return c.Start(&d.processes)
	}
	return d
}

// Health returns the result of the last start, or whether the program exists.
func (d *Driver) Health() agent.Health {
	return d.last.Health(func() error {
		_, err := exec.LookPath(d.options.Command[0])
		return err
	}, d.missing)
}

func (d *Driver) missing(err error) agent.Health {
	h := agent.Health{
		State:   agent.HealthMissing,
		Message: fmt.Sprintf("The program of the agent %s was not found: %v.", d.options.Name, err),
		Hint:    "Install it, or give its full path.",
	}
	if d.preset.Package != "" {
		h.Hint = d.preset.InstallHint()
	}
	return h
}

// Memory returns the memory of the running programs in bytes, by process id; empty if unknown.
func (d *Driver) Memory() map[int]int64 { return d.processes.Memory() }

// Models returns the models that the agent had when it last opened a session, at least one. It does not start the program.
func (d *Driver) Models() []agent.Model {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.models) > 0 {
		return slices.Clone(d.models)
	}
	return []agent.Model{{ID: d.modelID(agent.DefaultModel), Name: d.options.Name}}
}

func (d *Driver) modelID(value string) string { return d.options.Name + "/" + value }

// learnModels keeps the models that a session can have.
func (d *Driver) learnModels(s settings) {
	o, _ := s.option("model")
	list := []agent.Model{}
	for _, v := range o.values() {
		list = append(list, agent.Model{ID: d.modelID(v.Value), Name: v.Name})
	}
	own := slices.IndexFunc(list, func(m agent.Model) bool { return m.ID == d.modelID(o.current()) })
	if own > 0 { // the agent's own choice comes first, as the default
		list = slices.Concat(list[own:own+1], list[:own], list[own+1:])
	}
	d.mu.Lock()
	same := d.models != nil && slices.Equal(d.models, list)
	d.models = list
	d.mu.Unlock()
	if !same {
		d.saved.keepModels(list, d.options.Log)
	}
}

// areModelsKnown reports whether a process has listed its models since the portal started, or before.
func (d *Driver) areModelsKnown() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.models != nil
}

// Capabilities returns what sessions of the agent can do, as far as the protocol allows it; less if the agent cannot.
func (d *Driver) Capabilities() []agent.Capability {
	return []agent.Capability{
		agent.Permissions, agent.Reasoning, agent.ClientTools, agent.Todos, agent.Attachments, agent.Resuming, agent.Switching, agent.Context, agent.Servers,
	}
}

// Launch starts the program and initializes it; it is an [agent.Launch].
func (d *Driver) Launch(ctx context.Context) (agent.Agent, error) {
	program, err := d.start()
	if err != nil {
		return nil, d.failed("", err)
	}
	a := &Agent{driver: d, conversations: map[string]*conversation{}}
	a.Limited = agent.Limited{Name: d.options.Name, Alive: func(ctx context.Context) error { return a.link.Alive(ctx) }}
	a.link = stdio.Connect(program, a.methods(), jsonrpc.Options{
		Concurrent: math.MaxInt, // requests wait for users: forgotten questions must not delay those that the policy answers
		Log:        d.options.Log, IgnoreGarbage: true,
	})
	if err := a.initialize(ctx); err != nil {
		a.Stop(stdio.AtOnce())
		return nil, d.failed(program.How(), err)
	}
	d.last.Set(agent.Health{State: agent.HealthReady, Version: a.version()})
	d.options.Log.Info("the agent is up", "version", a.version())
	return a, nil
}

// failed explains why the program cannot be used. how is how it ended.
func (d *Driver) failed(how string, err error) error {
	if how != "" {
		how = ": " + how
	}
	h := agent.Health{
		State:   agent.HealthFailed,
		Message: fmt.Sprintf("The agent %s did not start: %v%s.", d.options.Name, err, how),
		Hint:    "It must speak the Agent Client Protocol; try `" + strings.Join(d.options.Command, " ") + "` in a terminal.",
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		h = d.missing(err)
	}
	d.last.Set(h)
	d.options.Log.Error("an agent did not start", "err", err)
	return fault.Errorf(fault.Unavailable, "%s %s", h.Message, h.Hint)
}

// codeAuthRequired is the protocol's code of an error for an agent that needs a sign-in.
const codeAuthRequired = -32000

// explain converts an error of a call to the agent.
func (a *Agent) explain(err error) error {
	refused, ok := errors.AsType[*jsonrpc.Error](err)
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, jsonrpc.ErrGone), errors.Is(err, jsonrpc.ErrClosed):
		return stdio.ErrGone
	case ok && refused.Code == codeAuthRequired:
		h := agent.Health{
			State: agent.HealthSignedOut, Version: a.version(),
			Message: fmt.Sprintf("The agent %s is not signed in.", a.Name), Hint: a.signInHint(),
		}
		a.driver.last.Set(h)
		return fault.Errorf(fault.Unavailable, "%s %s", h.Message, h.Hint)
	case ok:
		return fault.Errorf(fault.Unavailable, "the agent %s refused: %s", a.Name, refusal(refused))
	}
	return fault.Errorf(fault.Unavailable, "the agent %s failed: %w", a.Name, err)
}

// codeNotFound is the protocol's code of an error for something that does not exist.
const codeNotFound = -32002

// isNotFound reports whether the agent does not have a session. Not all agents have a code for it.
func isNotFound(err error) bool {
	refused, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return false
	}
	text := strings.ToLower(refusal(refused))
	return refused.Code == codeNotFound || strings.Contains(text, "not found") || strings.Contains(text, "no previous sessions found")
}

// refusal returns the text of an error, with its details.
func refusal(err *jsonrpc.Error) string {
	if err.Data == nil {
		return err.Message
	}
	return fmt.Sprintf("%s: %v", err.Message, err.Data)
}

// signInHint returns what the agent says about signing in.
func (a *Agent) signInHint() string {
	hint := "Sign in with the agent's own program."
	for _, m := range a.info.AuthMethods {
		hint += fmt.Sprintf(" %s (%s): %s.", m.Name, m.ID, strings.TrimSuffix(cmp.Or(m.Description, "set auth to its id"), "."))
	}
	return hint
}
