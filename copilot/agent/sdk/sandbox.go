package sdk

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sandbox"
)

// vendorHosts returns the hosts that a signed-in CLI needs: for the account, and for models of every plan.
// Source: GitHub's "Copilot allowlist reference", without hosts for editors, telemetry and signing in.
func vendorHosts() []string { return []string{"api.github.com:443", "*.githubcopilot.com:443"} }

// sandboxFor returns the sandbox of a CLI for a directory, or nil if none is configured. If the sandbox does not
// work here, the error says why.
func (d *Driver) sandboxFor(ctx context.Context, cli, directory, scratch string) (*sandbox.Sandbox, error) {
	if d.options.Sandbox == nil {
		return nil, nil //nolint:nilnil // nil means no sandbox
	}
	b := *d.options.Sandbox
	if err := sandbox.Probe(ctx, b.Network); err != nil {
		return nil, err
	}
	d.files.ensure(ctx, cli, d.options.Env)
	for _, path := range b.State { // it cannot create them, and only what exists can be mounted
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
	}
	b.Directory, b.Visible = directory, append([]string{cli, scratch}, b.Visible...)
	if b.Network != sandbox.Model {
		return &b, nil
	}
	hosts, err := d.hosts()
	if err != nil {
		return nil, err
	}
	b.Gate, err = sandbox.OpenGate(append(hosts, b.Hosts...), d.options.Env, d.options.Log)
	return &b, err
}

// hosts returns the hosts of all models that sessions can use.
func (d *Driver) hosts() ([]string, error) {
	hosts, providers := vendorHosts(), d.options.Providers
	if d.options.Demo != nil {
		demo, err := d.options.Demo()
		if err != nil {
			return nil, err
		}
		providers = append([]Provider{demo}, providers...)
	}
	for _, p := range providers {
		host, err := sandbox.HostOf(p.BaseURL)
		if err != nil {
			return nil, fmt.Errorf("the address of the provider %s: %w", p.Name, err)
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

// unpacked is the CLI whose files are in the user's cache, which a sandbox cannot write.
type unpacked struct {
	mu       sync.Mutex
	path     string
	modified time.Time
}

// ensure lets a CLI that has not unpacked its files do so. If it cannot, the start reports that.
func (u *unpacked) ensure(ctx context.Context, path string, env []string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.path == path && u.modified.Equal(info.ModTime()) {
		return
	}
	command := exec.CommandContext(ctx, path, "--version")
	command.Env = env
	if command.Run() == nil {
		u.path, u.modified = path, info.ModTime()
	}
}

func unsafe(err error) agent.Health {
	return agent.Health{
		State:   agent.HealthFailed,
		Message: fmt.Sprintf("The configured sandbox does not work: %v.", err),
		Hint:    "Sessions do not start without the sandbox.",
	}
}
