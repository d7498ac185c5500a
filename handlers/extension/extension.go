// Package extension has the methods that list and change the MCP servers, skills and custom agents of the user, for the dialects that speak
// JSON-RPC (spec/page.md, "Extensions"). Their members are single words, so all dialects share them.
package extension

import (
	"context"
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

// API answers the methods. It is safe for concurrent use and needs no close.
type API struct {
	Host      *copilot.Host
	Directory string // of requests that name none
}

// Methods returns the methods, whose names begin with prefix.
func (a API) Methods(prefix string) jsonrpc.Methods {
	return jsonrpc.Methods{
		prefix + "extensions.list": {Handle: a.list},
		prefix + "servers.check":   {Handle: a.check},
		prefix + "server.add":      {Handle: a.add},
		prefix + "server.remove":   {Handle: a.remove},
		prefix + "server.enable":   {Handle: a.enableServer},
		prefix + "server.signin":   {Handle: a.SignIn},
		prefix + "skill.enable":    {Handle: a.enableSkill},
	}
}

type (
	listResult struct {
		Directory string        `json:"directory"`
		Servers   []server      `json:"servers"`
		Skills    []skill       `json:"skills"`
		Agents    []customAgent `json:"agents"`
	}
	server struct {
		Name      string            `json:"name"`
		State     event.ServerState `json:"state"`
		Error     string            `json:"error,omitempty"`
		Source    string            `json:"source,omitempty"`
		Transport string            `json:"transport,omitempty"`
		Config    *config           `json:"config,omitempty"`
	}
	config struct {
		Command   string   `json:"command,omitempty"`
		Args      []string `json:"args,omitempty"`
		Variables []string `json:"variables,omitempty"`
		URL       string   `json:"url,omitempty"`
		Headers   []string `json:"headers,omitempty"`
	}
	skill struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Source      string `json:"source"`
		Path        string `json:"path,omitempty"`
		Enabled     bool   `json:"enabled"`
	}
	customAgent struct {
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Source      string   `json:"source,omitempty"`
		Path        string   `json:"path,omitempty"`
		Model       string   `json:"model,omitempty"`
		Tools       []string `json:"tools,omitempty"`
	}
)

type inDirectory struct {
	Directory string `json:"directory"`
}

// decode reads params that may name a directory.
func (a API) decode(r *jsonrpc.Request, params any, directory *string) error {
	if err := r.Decode(params); err != nil {
		return err
	}
	if *directory == "" {
		*directory = a.Directory
	}
	return nil
}

// list is extensions.list.
func (a API) list(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p inDirectory
	if err := a.decode(r, &p, &p.Directory); err != nil {
		return nil, err
	}
	servers, err := a.Host.Servers(ctx, p.Directory)
	if err != nil {
		return nil, err
	}
	x, err := a.Host.Extensions(ctx, p.Directory)
	if err != nil {
		return nil, err
	}
	result := listResult{p.Directory, []server{}, []skill{}, []customAgent{}}
	for _, s := range servers {
		encoded := encodeServer(s.Server)
		if s.Config != nil {
			encoded.Config = encodeConfig(*s.Config)
		}
		result.Servers = append(result.Servers, encoded)
	}
	for _, s := range x.Skills {
		result.Skills = append(result.Skills, skill{s.Name, s.Description, s.Source, s.Path, s.Enabled})
	}
	for _, c := range x.Agents {
		result.Agents = append(result.Agents, customAgent(c))
	}
	return result, nil
}

func encodeServer(s event.Server) server {
	return server{Name: s.Name, State: s.State, Error: s.Error, Source: s.Source, Transport: s.Transport}
}

func encodeConfig(c agent.ServerConfig) *config {
	return &config{c.Command, c.Args, slices.Sorted(maps.Keys(c.Env)), c.URL, slices.Sorted(maps.Keys(c.Headers))}
}

// check is servers.check.
func (a API) check(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p inDirectory
	if err := a.decode(r, &p, &p.Directory); err != nil {
		return nil, err
	}
	found, err := a.Host.CheckServers(ctx, p.Directory)
	if err != nil {
		return nil, err
	}
	return map[string]any{"servers": wire.List(found, encodeServer)}, nil
}

// Server is an MCP server as a client declares it.
type Server struct {
	Name      string            `json:"name"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Variables map[string]string `json:"variables"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
}

// Config returns the configuration of the server, which the domain has to check.
func (s Server) Config() agent.ServerConfig {
	return agent.ServerConfig{Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Variables, URL: s.URL, Headers: s.Headers}
}

// Configs returns the configurations of servers that a client passes for a session.
func Configs(list []Server) []agent.ServerConfig {
	configs := make([]agent.ServerConfig, len(list))
	for i, s := range list {
		configs[i] = s.Config()
	}
	return configs
}

// add is server.add.
func (a API) add(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p Server
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	return struct{}{}, a.Host.AddServer(ctx, p.Config())
}

// remove is server.remove.
func (a API) remove(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Name string `json:"name"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	return struct{}{}, a.Host.RemoveServer(ctx, p.Name)
}

type enableParams struct {
	inDirectory

	Name    string `json:"name"`
	Enabled *bool  `json:"enabled"`
}

func (a API) decodeEnable(r *jsonrpc.Request) (p enableParams, err error) {
	if err = a.decode(r, &p, &p.Directory); err == nil && p.Enabled == nil {
		err = jsonrpc.InvalidParams(`"enabled" is missing`)
	}
	return p, err
}

// enableServer is server.enable.
func (a API) enableServer(ctx context.Context, r *jsonrpc.Request) (any, error) {
	p, err := a.decodeEnable(r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, a.Host.EnableServer(ctx, p.Directory, p.Name, *p.Enabled)
}

// enableSkill is skill.enable.
func (a API) enableSkill(ctx context.Context, r *jsonrpc.Request) (any, error) {
	p, err := a.decodeEnable(r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, a.Host.EnableSkill(ctx, p.Directory, p.Name, *p.Enabled)
}

// SignIn is server.signin without a session.
func (a API) SignIn(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		inDirectory

		Server string `json:"server"`
	}
	if err := a.decode(r, &p, &p.Directory); err != nil {
		return nil, err
	}
	if p.Server == "" {
		return nil, jsonrpc.InvalidParams(`"server" is missing`)
	}
	url, err := a.Host.SignInToServer(ctx, p.Directory, p.Server)
	if err != nil {
		return nil, err
	}
	return map[string]string{"url": url}, nil
}
