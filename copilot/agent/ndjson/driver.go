package ndjson

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

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
	l, r, err := d.initialize(ctx)
	if err != nil {
		err = d.failed(l, err)
		d.options.Log.Error("the agent's program did not start", "err", err)
		return nil, err
	}
	d.last.Set(agent.Health{State: agent.HealthReady, Version: r.ServerVersion})
	d.options.Log.Info("the agent's program is up", "name", r.ServerName, "version", r.ServerVersion)
	limited := agent.Limited{Name: cmp.Or(d.options.Name, r.ServerName), Alive: l.Alive}
	return &Agent{Limited: limited, link: l, model: d.model(r.ServerName), tabs: map[string]int{}}, nil
}

// initialize starts the program and initializes it. With an error, the link is that to the last program, which must be stopped, or nil.
func (d *Driver) initialize(ctx context.Context) (l *link, r initializeResult, err error) {
	params := initializeParams{
		ClientName: "copilot-portal", ClientVersion: d.options.Version,
		Capabilities: clientCapabilities{Streaming: true, SpecFormats: []string{"openapi3", "swagger2", "graphql"}},
	}
	err = call{
		method: initialize,
		attempt: func(int) (err error) {
			if l, err = d.running(ctx, l); err != nil {
				return err
			}
			return l.call(ctx, &request{method: initialize, params: params}, &r)
		},
		failed: func(n int, err error, again bool, wait time.Duration) {
			if again {
				d.options.Log.Warn("initializing the agent's program again", "attempt", n+1, "in", wait, "err", err)
			}
		},
	}.perform(ctx)
	return l, r, err
}

// running returns the link to a running program: l, or a new one if the program has ended.
func (d *Driver) running(ctx context.Context, l *link) (*link, error) {
	if l != nil && !l.IsOver() {
		return l, nil
	}
	if l != nil {
		select {
		case <-l.done:
		case <-ctx.Done():
			return l, ctx.Err()
		}
	}
	p, err := d.start()
	if err != nil {
		return l, fault.Errorf(fault.Unavailable, "the agent's program did not start: %w", err)
	}
	return connect(p, d.options.Log), nil
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

// failed stops the program, if it was started, and explains why it cannot be used.
func (d *Driver) failed(l *link, err error) error {
	how := ""
	if l != nil {
		l.stop(stdio.AtOnce())
		how = ": " + l.Program.How()
	}
	h := agent.Health{
		State:   agent.HealthFailed,
		Message: fmt.Sprintf("%s did not start as an agent: %v%s.", d.options.Command[0], err, how),
		Hint:    "It must speak the Copilot CLI Protocol; try `" + filepath.Base(d.options.Command[0]) + "` in a terminal.",
	}
	d.last.Set(h)
	return fault.Errorf(fault.Unavailable, "%s %s", h.Message, h.Hint)
}
