package ndjson

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Options configures a program. Zero fields have the defaults named.
type Options struct {
	Name      string       // of the agent, which its model's id begins with; "": the id is the program's name
	Command   []string     // program and arguments; required
	Directory string       // working directory; default: that of the portal
	Env       []string     // "KEY=VALUE"; default: that of the portal
	Version   string       // version of the portal, for the program; default "dev"
	Log       *slog.Logger // nil disables logging
}

func (o Options) withDefaults() Options {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Version = cmp.Or(o.Version, "dev")
	return o
}

func (o Options) command() stdio.Command {
	return stdio.Command{Words: o.Command, Directory: o.Directory, Env: o.Env, Log: o.Log}
}

// Driver starts programs as agents and keeps the result of the last start. Its methods may be called concurrently.
type Driver struct {
	options   Options
	start     func() (*stdio.Program, error)
	last      agent.LastStart
	processes process.Set
}

// New returns a driver. It does not start the program yet.
func New(o Options) *Driver {
	d := &Driver{options: o.withDefaults()}
	d.start = func() (*stdio.Program, error) { return d.options.command().Start(&d.processes) }
	return d
}

// Health returns the result of the last start, or whether the program exists.
func (d *Driver) Health() agent.Health {
	return d.last.Health(func() error {
		_, err := exec.LookPath(d.options.Command[0])
		return err
	}, missing)
}

func missing(err error) agent.Health {
	return agent.Health{
		State:   agent.HealthMissing,
		Message: fmt.Sprintf("The agent's program was not found: %v.", err),
		Hint:    "Give the name of an existing program, or its full path.",
	}
}

// Memory returns the memory of the running programs in bytes, by process id; empty if unknown.
func (d *Driver) Memory() map[int]int64 { return d.processes.Memory() }

// Launch starts the program and initializes it; it is an [agent.Launch]. All attempts together take up to
// [StartTimeout], which the pool must allow.
func (d *Driver) Launch(ctx context.Context) (agent.Agent, error) {
	c := newClient(d.start, d.options.Log)
	r, err := c.Initialize(ctx, InitializeParams{
		ClientName: "copilot-portal", ClientVersion: d.options.Version,
		Capabilities: ClientCapabilities{Streaming: true, SpecFormats: []string{"openapi3", "swagger2", "graphql"}},
	})
	if err != nil {
		err = d.failed(c, err)
		d.options.Log.Error("the agent's program did not start", "err", err)
		return nil, err
	}
	d.last.Set(agent.Health{State: agent.HealthReady, Version: r.ServerVersion})
	d.options.Log.Info("the agent's program is up", "name", r.ServerName, "version", r.ServerVersion)
	l := c.preventRestart()
	limited := agent.Limited{Name: cmp.Or(d.options.Name, r.ServerName), Alive: l.Alive}
	return &Agent{Limited: limited, client: c, link: l, model: d.model(r.ServerName), tabs: map[string]int{}}, nil
}

// Models returns the model of an agent with a name.
func (d *Driver) Models() []agent.Model { return []agent.Model{d.model("")} }

// model returns the only model of a program that calls itself server.
func (d *Driver) model(server string) agent.Model {
	id := cmp.Or(server, "cli")
	if name := d.options.Name; name != "" { // known before the program has started
		return agent.Model{ID: name + "/" + agent.DefaultModel, Name: name, Multiplier: 1}
	}
	return agent.Model{ID: id, Name: id, Multiplier: 1}
}

// Capabilities returns what agents of the Copilot CLI Protocol can do: spec/contracts/cli-protocol.md has no means for anything else.
func (d *Driver) Capabilities() []agent.Capability {
	return []agent.Capability{agent.Forgetting, agent.Failures}
}

// failed stops the program and explains why it cannot be used.
func (d *Driver) failed(c *Client, err error) error {
	c.Close(stdio.AtOnce())
	said := c.stderrTail()
	if said != "" {
		said = ": " + said
	}
	h := agent.Health{
		State:   agent.HealthFailed,
		Message: fmt.Sprintf("%s did not start as an agent: %v%s.", d.options.Command[0], err, said),
		Hint:    "It must speak the Copilot CLI Protocol; try `" + filepath.Base(d.options.Command[0]) + "` in a terminal.",
	}
	d.last.Set(h)
	return fault.Errorf(fault.Unavailable, "%s %s", h.Message, h.Hint)
}
