package ui

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/handlers/wire"
)

// listedServer is an MCP server (spec/contracts/ui-protocol.md, "5.8 mcp.list").
type listedServer struct {
	ID        string `json:"id"`
	Transport string `json:"transport"` // http, stdio
	Source    string `json:"source,omitempty"`
	Enabled   bool   `json:"enabled"`
	State     string `json:"state"` // disabled, connecting, ready, error
	Error     string `json:"last_error,omitempty"`
}

// servers is mcp.list: the servers of the current session or, without one or with the scope
// "configured", the configured ones.
func (n *connection) servers(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Scope string `json:"scope"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	found, err := n.extensions(ctx, p.Scope != "configured")
	if err != nil {
		return nil, err
	}
	return map[string]any{"servers": wire.List(found.Servers, encodeServer)}, nil
}

// extensions returns those of the current session if loaded is true and there is one, otherwise
// those that a new session would find.
func (n *connection) extensions(ctx context.Context, loaded bool) (agent.Extensions, error) {
	n.mu.Lock()
	current := n.current
	n.mu.Unlock()
	if loaded && current != "" {
		if s, err := n.host().Session(ctx, current); err == nil {
			return n.loaded(ctx, s)
		}
	}
	return n.host().Extensions(ctx, n.workspace())
}

// loaded returns the extensions of a session. The session does not know the transports of its
// servers, so those come from the configuration.
func (n *connection) loaded(ctx context.Context, s *copilot.Session) (agent.Extensions, error) {
	x, err := s.Extensions(ctx)
	if err != nil || len(x.Servers) == 0 {
		return x, err
	}
	all, err := n.host().Extensions(ctx, s.Info().Directory)
	if err != nil {
		return x, err
	}
	for i := range x.Servers {
		for _, known := range all.Servers {
			if known.Name == x.Servers[i].Name {
				x.Servers[i].Transport = known.Transport
			}
		}
	}
	return x, nil
}

func encodeServer(s event.Server) listedServer {
	encoded := listedServer{ID: s.Name, Transport: "stdio", Source: "global", Enabled: true, Error: plain.Text(s.Error)}
	if s.Transport == "http" || s.Transport == "sse" {
		encoded.Transport = "http"
	}
	if s.Source == "workspace" {
		encoded.Source = "project"
	}
	switch s.State {
	case event.ServerConfigured, event.ServerPending:
		encoded.State = "connecting"
	case event.ServerConnected:
		encoded.State = "ready"
	case event.ServerSignIn:
		encoded.State, encoded.Error = "error", cmp.Or(encoded.Error, "a sign-in is needed")
	case event.ServerFailed:
		encoded.State = "error"
	case event.ServerDisabled:
		encoded.State, encoded.Enabled = "disabled", false
	}
	return encoded
}

// listedSkill is a skill (spec/contracts/ui-protocol.md, "5.9 skills.list").
type listedSkill struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
	Dir         string `json:"dir"`
	Scope       string `json:"scope"` // repo, user
	Modified    int64  `json:"mtime_ms"`
}

type skillError struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// skills is skills.list. It reads the skills each time.
func (n *connection) skills(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Directory string `json:"cwd"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	found, err := n.host().Extensions(ctx, cmp.Or(p.Directory, n.workspace()))
	if err != nil {
		return nil, err
	}
	list, faults := encodeSkills(found)
	return map[string]any{"skills": list, "errors": faults, "truncated": false}, nil
}

func encodeSkills(x agent.Extensions) (list []listedSkill, faults []skillError) {
	list, faults = []listedSkill{}, []skillError{}
	for _, s := range x.Skills {
		encoded, err := encodeSkill(s)
		if err != nil {
			faults = append(faults, skillError{s.Path, err.Error()})
		}
		list = append(list, encoded)
	}
	return list, faults
}

// encodeSkill adds the modification time of a skill's file; built-in skills have no file.
func encodeSkill(s agent.Skill) (listedSkill, error) {
	encoded := listedSkill{ID: s.Name, Name: s.Name, Description: plain.Text(s.Description), Path: s.Path, Scope: "user"}
	if s.Source == "project" || s.Source == "inherited" {
		encoded.Scope = "repo"
	}
	if s.Path == "" {
		return encoded, nil
	}
	encoded.Dir = filepath.Dir(s.Path)
	info, err := os.Stat(s.Path)
	if err != nil {
		return encoded, err
	}
	encoded.Modified = info.ModTime().UnixMilli()
	return encoded, nil
}

type extensionsResult struct {
	Servers []listedServer `json:"servers"`
	Skills  []listedSkill  `json:"skills"`
}

// extensionsOf is portal.session.extensions.
func (n *connection) extensionsOf(ctx context.Context, r *jsonrpc.Request) (any, error) {
	id, err := sessionID(r)
	if err != nil {
		return nil, err
	}
	s, err := n.host().Session(ctx, id)
	if err != nil {
		return nil, err
	}
	x, err := n.loaded(ctx, s)
	if err != nil {
		return nil, err
	}
	skills, _ := encodeSkills(x) // a skill whose file cannot be read is listed without its time
	return extensionsResult{wire.List(x.Servers, encodeServer), skills}, nil
}
