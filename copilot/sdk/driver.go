// Package sdk drives the GitHub Copilot CLI through its official Go SDK. It is
// the only room that knows the vendor's names: everything that leaves it is a
// type of package copilot.
//
// The CLI runs as our direct child in a process group of its own and is reached
// over a loopback port with a random token, because only so its end is noticed
// at once (the SDK tells nobody) and Ctrl-C in a terminal reaches the portal
// alone.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	vendor "github.com/github/copilot-sdk/go"

	"github.com/copilot-portal/portal/copilot"
)

// MinVersion is the oldest CLI that the pinned SDK is known to work with.
const MinVersion = "1.0.102"

// Options of a [Driver].
type Options struct {
	Locate    Locate
	Env       []string // of the CLI, "KEY=VALUE"
	Providers []Provider
	// Demo starts the scripted model, on first use. It is listed always, or, if
	// not DemoAlways, while there is no other model. nil: never.
	Demo       func() (Provider, error)
	DemoAlways bool
	Log        *slog.Logger
}

// Driver starts CLI processes and knows how the last one was. Its methods may
// be called concurrently.
type Driver struct {
	options Options
	catalog catalog

	mu     sync.Mutex
	health copilot.Health
}

// New makes a driver; nothing is started yet.
func New(o Options) *Driver {
	d := &Driver{options: o, health: copilot.Health{State: copilot.HealthUnknown}}
	d.catalog.driver = d
	return d
}

// Health says how the last start went. It starts nothing.
func (d *Driver) Health() copilot.Health {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.health
}

func (d *Driver) setHealth(h copilot.Health) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.health = h
}

// Launch starts a CLI process; it is a [copilot.Launch].
func (d *Driver) Launch(ctx context.Context) (copilot.Agent, error) {
	begin := time.Now()
	a, health, err := d.launch(ctx)
	d.setHealth(health)
	if err != nil {
		d.options.Log.Error("the Copilot CLI did not start", "err", err, "state", health.State)
		return nil, copilot.Errorf(copilot.Unavailable, "%s %s", health.Message, health.Hint)
	}
	d.options.Log.Info("the Copilot CLI is up", "version", a.version, "pid", a.process.pid(), "took", time.Since(begin).Round(time.Millisecond))
	return a, nil
}

func (d *Driver) launch(ctx context.Context) (*Agent, copilot.Health, error) {
	path, err := d.options.Locate.find()
	if err != nil {
		return nil, missing(err), err
	}
	p, err := startProcess(ctx, path, d.options.Env)
	if err != nil {
		return nil, failed(path, err), err
	}
	a, err := connect(ctx, d, p)
	if err != nil {
		p.kill()
		<-p.gone
		return nil, failed(path, errors.Join(err, p.lastWords())), err
	}
	if semver.Compare("v"+a.version, "v"+MinVersion) < 0 {
		a.Stop(ctx)
		return nil, tooOld(path, a.version), fmt.Errorf("version %s of %s is too old", a.version, path)
	}
	return a, copilot.Health{State: copilot.HealthReady, Version: a.version}, nil
}

func missing(err error) copilot.Health {
	return copilot.Health{
		State:   copilot.HealthMissing,
		Message: fmt.Sprintf("The Copilot CLI was not found (%v).", err),
		Hint:    "Get it with `make build` beside the portal, or with `npm install -g @github/copilot`, or name it with `--copilot-path`.",
	}
}

func tooOld(path, version string) copilot.Health {
	return copilot.Health{
		State: copilot.HealthTooOld, Version: version,
		Message: fmt.Sprintf("The Copilot CLI at %s is version %s; the portal needs %s or newer.", path, version, MinVersion),
		Hint:    "Update it with `npm install -g @github/copilot@" + MinVersion + "`.",
	}
}

func failed(path string, err error) copilot.Health {
	return copilot.Health{
		State:   copilot.HealthFailed,
		Message: fmt.Sprintf("The Copilot CLI at %s did not start: %v.", path, err),
		Hint:    "Try it in a terminal: `" + path + " --version`.",
	}
}

func signedOut(version string) copilot.Health {
	return copilot.Health{
		State: copilot.HealthSignedOut, Version: version,
		Message: "The Copilot CLI is not signed in, so GitHub's models are not available.",
		Hint:    "Sign in with `copilot login` and start the portal again.",
	}
}

// connect takes up the connection to a started process.
func connect(ctx context.Context, d *Driver, p *process) (*Agent, error) {
	client := vendor.NewClient(&vendor.ClientOptions{
		Connection: vendor.URIConnection{URL: p.address, ConnectionToken: p.token},
		Env:        []string{}, // the SDK starts nothing
	})
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	status, err := client.GetStatus(ctx)
	if err != nil {
		client.ForceStop()
		return nil, err
	}
	a := &Agent{driver: d, process: p, client: client, version: status.Version, done: make(chan struct{})}
	go a.supervise()
	return a, nil
}
