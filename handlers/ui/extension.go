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

// servers is mcp.list: those of the session that goes on, or, if there is none or
// "configured" is asked for, those that are configured.
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
	return map[string]any{"servers": encodeServers(found)}, nil
}

// extensions are those of the session that goes on, if they are wanted and there is
// one, else those that sessions would find.
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

// loaded are the extensions of a session, which does not know by itself how its
// servers are spoken to.
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

func encodeServers(x agent.Extensions) []listedServer {
	list := []listedServer{}
	for _, s := range x.Servers {
		list = append(list, encodeServer(s))
	}
	return list
}

func encodeServer(s event.Server) listedServer {
	told := listedServer{ID: s.Name, Transport: "stdio", Source: "global", Enabled: true, Error: s.Error}
	if s.Transport == "http" || s.Transport == "sse" {
		told.Transport = "http"
	}
	if s.Source == "workspace" {
		told.Source = "project"
	}
	switch s.State {
	case event.ServerConfigured, event.ServerPending:
		told.State = "connecting"
	case event.ServerConnected:
		told.State = "ready"
	case event.ServerSignIn:
		told.State, told.Error = "error", cmp.Or(s.Error, "a sign-in is needed")
	case event.ServerFailed:
		told.State = "error"
	case event.ServerDisabled:
		told.State, told.Enabled = "disabled", false
	}
	return told
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

// skills is skills.list. It is read anew each time.
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
		told, err := encodeSkill(s)
		if err != nil {
			faults = append(faults, skillError{s.Path, err.Error()})
		}
		list = append(list, told)
	}
	return list, faults
}

// encodeSkill reads the time of a skill's file; those that the agent brings along
// have none.
func encodeSkill(s agent.Skill) (listedSkill, error) {
	told := listedSkill{ID: s.Name, Name: s.Name, Description: s.Description, Path: s.Path, Scope: "user"}
	if s.Source == "project" || s.Source == "inherited" {
		told.Scope = "repo"
	}
	if s.Path == "" {
		return told, nil
	}
	told.Dir = filepath.Dir(s.Path)
	info, err := os.Stat(s.Path)
	if err != nil {
		return told, err
	}
	told.Modified = info.ModTime().UnixMilli()
	return told, nil
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
	skills, _ := encodeSkills(x) // one whose file cannot be read is listed without its time
	return extensionsResult{encodeServers(x), skills}, nil
}
