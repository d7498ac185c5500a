package copilot

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// clientServers are the MCP servers that clients have passed for sessions. They have secrets, so they are only in memory. They are apart from
// the sessions, which may leave memory and come back. The zero value has none.
type clientServers struct {
	mu        sync.Mutex
	bySession map[string][]agent.ServerConfig // sorted by name; the lists are replaced, never modified
}

// of returns the servers of a session, which the caller must not modify.
func (c *clientServers) of(session string) []agent.ServerConfig {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bySession[session]
}

// set replaces the servers of a session.
func (c *clientServers) set(session string, list []agent.ServerConfig) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(list) == 0 {
		delete(c.bySession, session)
		return
	}
	if c.bySession == nil {
		c.bySession = map[string][]agent.ServerConfig{}
	}
	c.bySession[session] = slices.SortedFunc(slices.Values(list), func(a, b agent.ServerConfig) int { return cmp.Compare(a.Name, b.Name) })
}

// forget removes the servers of a session that no longer exists.
func (c *clientServers) forget(session string) { c.set(session, nil) }

// checkServers checks the servers that a client passes for a session.
func checkServers(list []agent.ServerConfig) error {
	names := map[string]bool{}
	for _, s := range list {
		if err := s.Check(); err != nil {
			return fault.Errorf(fault.Invalid, "MCP server %q: %w", s.Name, err)
		}
		if names[s.Name] {
			return fault.Errorf(fault.Invalid, "there are two MCP servers with the name %q", s.Name)
		}
		names[s.Name] = true
	}
	return nil
}

// SetServers replaces the MCP servers that a client has passed for the session, from the next prompt on. The session has them in addition
// to those that the agent stores, until they are replaced, the session is deleted or this process ends: they are not stored. The agent
// starts them with the rights of the portal, so callers must be as trusted as those of [Host.AddServer]. Errors: kind [fault.Invalid] for
// invalid servers.
func (s *Session) SetServers(list []agent.ServerConfig) error {
	return s.host.commands.setServers.effect(context.Background(), s, list)
}

func (s *Session) setServersHere(list []agent.ServerConfig) error {
	if err := checkServers(list); err != nil {
		return err
	}
	s.host.clientServers.set(s.id, list)
	return nil
}

// serversOutdated reports whether the conversation has other servers than the session. The caller must hold the lock.
func (s *Session) serversOutdated() bool {
	return s.link != nil && !slices.EqualFunc(s.link.servers, s.host.clientServers.of(s.id), agent.ServerConfig.Equal)
}
