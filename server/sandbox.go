package server

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

// box is what a sandboxed CLI may use; nil if no sandbox is configured.
func (c *Config) box() *sandbox.Sandbox {
	if !c.Sandbox {
		return nil
	}
	lookup := Sources{Environ: os.Environ()}.lookup
	home, _ := lookup("HOME")
	state, _ := lookup("COPILOT_HOME")
	network, _ := sandbox.ParseNetwork(c.SandboxNetwork) // check has validated it
	return &sandbox.Sandbox{
		Network: network, Hosts: c.SandboxHosts,
		Home: home, State: []string{cmp.Or(state, filepath.Join(home, ".copilot"))},
		Hidden: slices.DeleteFunc([]string{c.DataDir, c.File}, func(path string) bool { return path == "" }),
	}
}

// checkSandbox refuses what cannot be sandboxed, rather than to leave it open.
func (c *Config) checkSandbox(fault func(format string, args ...any)) {
	if c.Sandbox && c.AgentCommand != "" {
		fault("sandbox: only the Copilot CLI runs in a sandbox, and agent_command names another program")
	}
	network, err := sandbox.ParseNetwork(c.SandboxNetwork)
	switch {
	case err != nil:
		fault("sandbox_network: %w", err)
	case network == sandbox.Model && !c.Sandbox:
		fault("sandbox_network: there is no sandbox whose network could be limited; set sandbox: true, too")
	case network != sandbox.Model && len(c.SandboxHosts) > 0:
		fault("sandbox_hosts: every host can be reached; set sandbox_network: model, too")
	}
	for i, text := range c.SandboxHosts {
		if c.SandboxHosts[i], err = sandbox.ParseHost(text); err != nil {
			fault("sandbox_hosts: %w", err)
		}
	}
}

// wantsToken says whether clients need a token though none is configured: away from
// loopback, for pages of other origins, and where a sandboxed agent could use the portal
// to get out.
func (c *Config) wantsToken() bool {
	return c.Sandbox || !isLoopback(c.Host) || len(c.AllowedOrigins) > 0
}

// examineSandbox finds out whether a sandbox works here.
func examineSandbox(ctx context.Context, n sandbox.Network) Finding {
	if err := sandbox.Probe(ctx, n); err != nil {
		return problemFinding("No session starts without it.", "%v", err)
	}
	if n == sandbox.Model {
		return okFinding("bubblewrap works; the agent writes to the working directory alone and reaches nothing but its models and sandbox_hosts")
	}
	return okFinding("bubblewrap works; the agent writes to the working directory alone")
}

// launchesIn says whether a driver starts a process for each directory.
func launchesIn(d driver, c Config) (*sdk.Driver, bool) {
	cli, ok := d.(*sdk.Driver)
	return cli, ok && c.Sandbox
}
