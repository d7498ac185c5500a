package sdk

import (
	"context"
	"fmt"
	"os"
	"os/exec"

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
	d.unpack.Do(func() { unpack(ctx, cli, d.options.Env) })
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

// unpack lets a CLI that was never started unpack its files into the user's cache. If it cannot, the start
// reports that.
func unpack(ctx context.Context, path string, env []string) {
	command := exec.CommandContext(ctx, path, "--version")
	command.Env = env
	_ = command.Run()
}

func unsafe(err error) agent.Health {
	return agent.Health{
		State:   agent.HealthFailed,
		Message: fmt.Sprintf("The configured sandbox does not work: %v.", err),
		Hint:    "Sessions do not start without the sandbox.",
	}
}
