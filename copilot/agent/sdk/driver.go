// Package sdk drives the GitHub Copilot CLI through its official Go SDK. It is the only package with vendor
// names: its exported API uses types of the domain.
//
// The CLI runs as a direct child in its own session of processes, and listens on a loopback port with a random token.
// Only this way the portal notices its end at once (the SDK does not report it), and Ctrl-C in a terminal
// reaches only the portal.
package sdk

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	vendor "github.com/github/copilot-sdk/go"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/sandbox"
	"github.com/copilot-portal/portal/copilot/fault"
)

// MinVersion is the oldest CLI that works with the SDK version in use.
const MinVersion = "1.0.102"

// Options are the options of a [Driver].
type Options struct {
	Locate    Locate
	Env       []string // of the CLI, "KEY=VALUE"
	Providers []Provider
	// WithoutAccount makes the CLI look for no account, so only models of providers are listed. It then starts no `gh`.
	WithoutAccount bool
	// Demo returns the scripted model, and starts it on the first call. It is listed always if DemoAlways is
	// set, otherwise only if there is no other model. nil means never.
	Demo       func() (Provider, error)
	DemoAlways bool
	// EndOrphans makes the first start end the processes that killed portals left running. Short-lived
	// commands leave that to others.
	EndOrphans bool
	// Fault says what in the configuration keeps the CLI from starting; nil means nothing.
	Fault error
	// Sandbox configures the sandbox of the CLI; [Driver.LaunchIn] sets its Directory. nil means no sandbox.
	Sandbox *sandbox.Sandbox
	Log     *slog.Logger
}

// Driver starts CLI processes and records the result of the last start. It is safe for concurrent use.
type Driver struct {
	options Options
	orphans sync.Once // processes of other portals, to be ended
	files   unpacked

	last      agent.LastStart
	processes process.Set
}

// New returns a driver. It starts nothing.
func New(o Options) *Driver {
	return &Driver{options: o}
}

// Capabilities returns what the Copilot CLI can do: everything.
func (d *Driver) Capabilities() []agent.Capability { return agent.Capabilities() }

// Memory returns the memory of each running CLI process, in bytes by process id; empty if unknown.
func (d *Driver) Memory() map[int]int64 { return d.processes.Memory() }

// Health returns the result of the last start, or whether the CLI exists. It starts nothing.
func (d *Driver) Health() agent.Health {
	return d.last.Health(func() error {
		_, err := d.options.Locate.find()
		return err
	}, missing)
}

// Launch starts a CLI process; it is an [agent.Launch].
func (d *Driver) Launch(ctx context.Context) (agent.Agent, error) { return d.LaunchIn(ctx, "") }

// LaunchIn starts a CLI process for the sessions of a directory, which a sandboxed CLI may write to; it is an
// [agent.LaunchIn]. If a sandbox is configured but does not work, it starts nothing and the error says why.
func (d *Driver) LaunchIn(ctx context.Context, directory string) (agent.Agent, error) {
	if d.options.EndOrphans {
		d.orphans.Do(d.endOrphans)
	}
	begin := time.Now()
	late := time.AfterFunc(slowStart, d.reportSlowStart)
	a, health, err := d.launch(ctx, directory)
	late.Stop()
	d.last.Set(health)
	if err != nil {
		d.options.Log.Error("the Copilot CLI did not start", "err", err, "state", health.State)
		return nil, fault.Errorf(fault.Unavailable, "%s %s", health.Message, health.Hint)
	}
	d.processes.Add(a.process.Process)
	d.options.Log.Info("the Copilot CLI started", "version", a.version, "pid", a.process.PID(), "took", time.Since(begin).Round(time.Millisecond))
	return a, nil
}

// slowStart is longer than any start of a CLI that has been started before.
const slowStart = 2 * time.Second

// reportSlowStart says why a start takes long, because people wait for it.
func (d *Driver) reportSlowStart() {
	const message = "The Copilot CLI is starting. The first start of a version may take some seconds, because it unpacks about 235 MB."
	d.options.Log.Info(message)
	d.last.SetStarting(message)
}

// endOrphans ends what killed portals left running, where that can be known.
func (d *Driver) endOrphans() {
	removeLeft()
	for _, ended := range process.EndOrphans(d.options.Env) {
		d.options.Log.Warn("ended processes left by a killed portal", "process", ended)
	}
}

func (d *Driver) launch(ctx context.Context, directory string) (*Agent, agent.Health, error) {
	if err := d.options.Fault; err != nil {
		return nil, misconfigured(err), err
	}
	path, err := d.options.Locate.find()
	if err != nil {
		return nil, missing(err), err
	}
	if d.options.Sandbox != nil { // which cannot be given a link whose target it has to find
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return nil, missing(err), err
		}
	}
	env, scratch := addGHStub(d.options.Env)
	box, err := d.sandboxFor(ctx, path, directory, scratch)
	release := func() {
		if box != nil && box.Gate != nil {
			box.Gate.Close()
		}
		_ = os.RemoveAll(scratch) // the next portal removes what remains
	}
	if err != nil {
		release()
		return nil, unsafe(err), err
	}
	if box != nil {
		env = sandbox.Environment(env)
	}
	p, err := startProcess(ctx, d.command(path), env, box)
	if err != nil {
		release()
		return nil, failed(path, err), err
	}
	p.release = release
	a, err := connect(ctx, d, p)
	if err != nil {
		p.KillAll()
		release()
		return nil, failed(path, p.explain(err)), err
	}
	if tooOld(a.version) {
		a.Stop(ctx)
		return nil, outdated(path, a.version), fmt.Errorf("version %s of %s is too old", a.version, path)
	}
	return a, agent.Health{State: agent.HealthReady, Version: a.version}, nil
}

// command returns the command line of the CLI.
func (d *Driver) command(path string) []string {
	line := []string{path, "--headless", "--no-auto-update", "--port", "0"}
	if d.options.WithoutAccount {
		line = append(line, "--no-auto-login")
	}
	return line
}

// tooOld reports whether a version of the CLI is older than [MinVersion]. An invalid version is too old.
func tooOld(version string) bool {
	return semver.Compare("v"+strings.TrimPrefix(version, "v"), "v"+MinVersion) < 0
}

func missing(err error) agent.Health {
	return agent.Health{
		State:   agent.HealthMissing,
		Message: fmt.Sprintf("The Copilot CLI was not found: %v.", err),
		Hint:    "Get it with `portal setup` or `npm install -g @github/copilot`, or give its path with `--copilot-path`.",
	}
}

func misconfigured(err error) agent.Health {
	return agent.Health{
		State:   agent.HealthFailed,
		Message: fmt.Sprintf("The Copilot CLI does not start: %v.", err),
		Hint:    "Correct that, and restart the portal. `portal doctor` checks everything else.",
	}
}

func outdated(path, version string) agent.Health {
	return agent.Health{
		State: agent.HealthTooOld, Version: version,
		Message: fmt.Sprintf("The Copilot CLI at %s is version %s; the portal needs %s or newer.", path, version, MinVersion),
		Hint:    "Update it with `npm install -g @github/copilot@" + MinVersion + "`.",
	}
}

func failed(path string, err error) agent.Health {
	return agent.Health{
		State:   agent.HealthFailed,
		Message: fmt.Sprintf("The Copilot CLI at %s did not start: %v.", path, err),
		Hint:    "Try it in a terminal: `" + path + " --version`.",
	}
}

func (d *Driver) signedOut(version string) agent.Health {
	h := agent.Health{
		State: agent.HealthSignedOut, Version: version,
		Message: "The Copilot CLI is not signed in, so GitHub's models are not available.",
		Hint:    "Sign in with `" + d.options.Locate.loginCommand() + "`; GitHub's models are available a minute later. If not, restart the portal.",
	}
	if len(d.options.Providers) > 0 {
		h.Hint += " To use only your own providers, set `account: false`."
	}
	return h
}

func unlisted(version string, err error) agent.Health {
	return agent.Health{
		State: agent.HealthFailed, Version: version,
		Message: "The Copilot CLI is signed in but cannot list its models: " + err.Error() + ".",
		Hint:    "Check the network and the subscription, then try again.",
	}
}

// connect connects to a started process.
func connect(ctx context.Context, d *Driver, p *child) (*Agent, error) {
	client := vendor.NewClient(&vendor.ClientOptions{
		Connection: vendor.URIConnection{URL: p.address, ConnectionToken: p.token},
		Env:        []string{}, // the SDK starts nothing
	})
	ctx, cancel := p.During(ctx)
	defer cancel()
	version, err := greet(ctx, client)
	if err != nil {
		client.ForceStop()
		return nil, fmt.Errorf("the connection to it failed: %w", err)
	}
	a := &Agent{driver: d, process: p, client: client, version: version, ack: newQuickAck(p.address), done: make(chan struct{})}
	a.catalog = catalog{agent: a, lock: make(chan struct{}, 1)}
	a.recordActivity()
	go a.supervise()
	return a, nil
}

// greet connects a client and returns the version of the CLI.
func greet(ctx context.Context, client *vendor.Client) (string, error) {
	if err := client.Start(ctx); err != nil {
		return "", err
	}
	status, err := client.GetStatus(ctx)
	if err != nil {
		return "", err
	}
	return status.Version, nil
}
