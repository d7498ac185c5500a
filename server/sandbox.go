package server

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
)

// newSandbox returns the sandbox of the CLI, or nil if none is configured.
func (c *Config) newSandbox() *sandbox.Sandbox {
	if !c.Sandbox {
		return nil
	}
	state, _ := Sources{Environ: os.Environ()}.lookup("COPILOT_HOME")
	network, _ := sandbox.ParseNetwork(c.SandboxNetwork) // check has validated it
	return &sandbox.Sandbox{
		Network: network, Hosts: c.SandboxHosts,
		Home: c.Home, State: []string{cmp.Or(state, filepath.Join(c.Home, ".copilot"))},
		Hidden: c.secretFiles(),
	}
}

// secretFiles returns the absolute paths of the files and directories that contain secrets of the portal.
func (c *Config) secretFiles() (paths []string) {
	for _, path := range []string{c.DataDir, c.File, c.TLS.Key, c.Cluster.Credentials, c.Cluster.TLS.Key} {
		if path, err := absolute(path); err == nil && path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// checkSandbox reports settings that cannot be combined with a sandbox, instead of leaving the agent
// unconfined.
func (c *Config) checkSandbox(fault func(format string, args ...any)) {
	if c.Sandbox && c.AgentCommand != "" {
		fault("sandbox: only the Copilot CLI can run in a sandbox; remove agent_command")
	}
	if c.Sandbox && c.Home == "" {
		fault("sandbox: the environment names no home directory (HOME), in which to hide secrets; set it")
	}
	network, err := sandbox.ParseNetwork(c.SandboxNetwork)
	switch {
	case err != nil:
		fault("sandbox_network: %w", err)
	case network == sandbox.Model && !c.Sandbox:
		fault("sandbox_network: it has no effect without a sandbox; also set sandbox: true")
	case network != sandbox.Model && len(c.SandboxHosts) > 0:
		fault("sandbox_hosts: it has no effect while every host is reachable; also set sandbox_network: model")
	}
	for i, text := range c.SandboxHosts {
		if c.SandboxHosts[i], err = sandbox.ParseHost(text); err != nil {
			fault("sandbox_hosts: %w", err)
		}
	}
}

// wantsToken reports whether the portal must generate a token if none is configured: when it listens beyond
// loopback, behind a proxy, for pages of other origins, and if a sandboxed agent could use the portal to escape.
func (c *Config) wantsToken() bool {
	return c.Sandbox || !isLoopback(c.Host) || len(c.AllowedHosts) > 0 || len(c.AllowedOrigins) > 0
}

// examineSandbox checks whether the sandbox works here.
func examineSandbox(ctx context.Context, n sandbox.Network) Finding {
	if err := sandbox.Probe(ctx, n); err != nil {
		return problemFinding("Sessions do not start without the sandbox.", "%v", err)
	}
	if n == sandbox.Model {
		return okFinding("bubblewrap works; the agent can only write to the working directory and only reach its models and sandbox_hosts")
	}
	return okFinding("bubblewrap works; the agent can only write to the working directory")
}
