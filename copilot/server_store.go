package copilot

import (
	"cmp"
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
)

// ServerSetup is an MCP server of sessions of the first agent in a directory: where it comes from, and its configuration if it is the user's own. Credentials
// in texts are masked, and the values of variables and headers are empty.
type ServerSetup struct {
	event.Server

	Config *agent.ServerConfig // nil: not of the user's configuration, so that it cannot be removed
}

// Servers lists the MCP servers of sessions in a directory. It starts an agent process if none runs. Errors as of [Host.Extensions].
func (h *Host) Servers(ctx context.Context, directory string) ([]ServerSetup, error) {
	var list []ServerSetup
	err := h.withExtensions(ctx, directory, func(a agent.Agent, x agent.Extensions) error {
		stored, err := a.Servers(ctx)
		for _, s := range x.Servers {
			setup := ServerSetup{Server: s}
			if i := slices.IndexFunc(stored, func(c agent.ServerConfig) bool { return c.Name == s.Name }); i >= 0 && (s.Source == "user" || s.Source == "") {
				config := maskConfig(stored[i])
				setup.Config = &config
			}
			list = append(list, setup)
		}
		return err
	})
	return list, err
}

// withExtensions calls an agent process, which it starts if none runs, with what sessions in a directory have.
func (h *Host) withExtensions(ctx context.Context, directory string, do func(agent.Agent, agent.Extensions) error) error {
	lease, err := h.leaseIn(ctx, directory)
	if err != nil {
		return err
	}
	defer lease.Release()
	x, err := lease.Agent.Extensions(ctx, directory)
	if err != nil {
		return err
	}
	return do(lease.Agent, x)
}

// leaseIn leases an agent for a directory, which it checks.
func (h *Host) leaseIn(ctx context.Context, directory string) (agent.Lease, error) {
	if err := CheckDirectory(directory); err != nil {
		return agent.Lease{}, err
	}
	return h.first().AcquireIn(ctx, directory)
}

// maskConfig masks credentials in arguments and addresses. The agent has left out the values of variables and headers.
func maskConfig(c agent.ServerConfig) agent.ServerConfig {
	args := make([]string, len(c.Args))
	for i, arg := range c.Args {
		args[i] = secret.Mask(arg)
		if i > 0 && secretOption.MatchString(c.Args[i-1]) {
			args[i] = "***"
		}
		if name, value, ok := strings.Cut(arg, "="); ok && value != "" && secretOption.MatchString(name) {
			args[i] = name + "=***"
		}
	}
	c.Args, c.Command, c.URL = args, secret.Mask(c.Command), maskQuery(secret.Mask(c.URL))
	return c
}

// secretOption matches options whose value is a credential.
var secretOption = regexp.MustCompile(`(?i)^-{1,2}[a-z-]*(token|secret|password|passwd|api-?key|credential)s?$`)

// maskQuery removes the values of an address' query, which often has a key.
func maskQuery(address string) string {
	path, query, ok := strings.Cut(address, "?")
	if !ok {
		return address
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if name, _, ok := strings.Cut(part, "="); ok {
			parts[i] = name + "=***"
		}
	}
	return path + "?" + strings.Join(parts, "&")
}

// AddServer stores an MCP server in the user's configuration of the agent. Sessions that open their conversation later start it, with the
// rights of the portal. Errors: kind [fault.Invalid] for an invalid configuration, and for a name that is taken.
func (h *Host) AddServer(ctx context.Context, c agent.ServerConfig) error {
	if err := checkServer(c); err != nil {
		return err
	}
	if c.SSE {
		return fault.Errorf(fault.Invalid, "a server with the transport SSE cannot be stored")
	}
	return h.withAgent(ctx, func(a agent.Agent) error { return a.AddServer(ctx, c) })
}

// RemoveServer removes an MCP server from the user's configuration. Errors: kind [fault.Invalid] if there is none.
func (h *Host) RemoveServer(ctx context.Context, name string) error {
	return h.withAgent(ctx, func(a agent.Agent) error { return a.RemoveServer(ctx, name) })
}

// EnableServer makes sessions that open their conversation later start an MCP server, or ignore it. Errors: kind [fault.Invalid] if
// sessions in the directory have no such server.
func (h *Host) EnableServer(ctx context.Context, directory, name string, enabled bool) error {
	return h.withExtensions(ctx, directory, func(a agent.Agent, x agent.Extensions) error {
		if !slices.ContainsFunc(x.Servers, func(s event.Server) bool { return s.Name == name }) {
			return fault.Errorf(fault.Invalid, "there is no MCP server %q", name)
		}
		return a.EnableServer(ctx, name, enabled)
	})
}

// EnableSkill makes the agent offer a skill in sessions that open their conversation later, or ignore it. Errors: kind [fault.Invalid] if
// sessions in the directory have no such skill.
func (h *Host) EnableSkill(ctx context.Context, directory, name string, enabled bool) error {
	return h.withExtensions(ctx, directory, func(a agent.Agent, x agent.Extensions) error {
		if !slices.ContainsFunc(x.Skills, func(s agent.Skill) bool { return s.Name == name }) {
			return fault.Errorf(fault.Invalid, "there is no skill %q", name)
		}
		return a.EnableSkill(ctx, name, enabled)
	})
}

// withAgent calls an agent process, which it starts if none runs.
func (h *Host) withAgent(ctx context.Context, do func(agent.Agent) error) error {
	lease, err := h.first().Acquire(ctx)
	if err != nil {
		return err
	}
	defer lease.Release()
	return do(lease.Agent)
}

// maxName is the greatest length of a server's name, in bytes.
const maxName = 100

// checkServer checks what the agent does not, and what it refuses only when it starts the server.
func checkServer(c agent.ServerConfig) error {
	if strings.TrimSpace(c.Name) == "" || len(c.Name) > maxName || strings.ContainsFunc(c.Name, unicode.IsControl) {
		return fault.Errorf(fault.Invalid, "the server needs a name of at most %d characters in one line", maxName)
	}
	if (c.Command == "") == (c.URL == "") {
		return fault.Errorf(fault.Invalid, "the server needs either a command or a URL")
	}
	if c.URL != "" {
		return cmp.Or(checkURL(c), checkNames("header", c.Headers))
	}
	return cmp.Or(checkCommand(c), checkNames("variable", c.Env))
}

func checkURL(c agent.ServerConfig) error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return fault.Errorf(fault.Invalid, "the URL must begin with https:// or http:// and name a host")
	case len(c.Args)+len(c.Env) > 0:
		return fault.Errorf(fault.Invalid, "arguments and variables belong to a command, not to a URL")
	}
	return nil
}

func checkCommand(c agent.ServerConfig) error {
	if len(c.Headers) > 0 || c.SSE {
		return fault.Errorf(fault.Invalid, "headers and the transport SSE belong to a URL, not to a command")
	}
	if strings.Contains(strings.Join(append([]string{c.Command}, c.Args...), " "), "\x00") {
		return fault.Errorf(fault.Invalid, "the command and its arguments must not contain a null character")
	}
	return nil
}

// checkNames checks the names and values of variables or headers.
func checkNames(what string, m map[string]string) error {
	for name, value := range m {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r == '=' || r == ':' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
			return fault.Errorf(fault.Invalid, "%q is not the name of a %s", name, what)
		}
		if strings.ContainsAny(value, "\x00\r\n") && what == "header" || strings.ContainsRune(value, 0) {
			return fault.Errorf(fault.Invalid, "the value of the %s %s contains a character that is not allowed", what, name)
		}
	}
	return nil
}
