package copilot

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/permission"
)

// fileTimeout limits a request to a client about a file; then the file on disk is used.
const fileTimeout = 3 * time.Second

// clientFiles are the files that attached clients offer. The zero value has none.
type clientFiles struct {
	mu        sync.Mutex
	bySession map[string][]*agent.Files // in the order in which the clients came
}

func (c *clientFiles) add(session string, files *agent.Files) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySession == nil {
		c.bySession = map[string][]*agent.Files{}
	}
	c.bySession[session] = append(c.bySession[session], files)
}

func (c *clientFiles) remove(session string, files *agent.Files) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bySession[session] = slices.DeleteFunc(c.bySession[session], func(f *agent.Files) bool { return f == files })
	if len(c.bySession[session]) == 0 {
		delete(c.bySession, session)
	}
}

func (c *clientFiles) of(session string) []*agent.Files {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.bySession[session])
}

// AttachFiles makes the agent of a session use the files that a client has open, until detach is called. The session need not be in memory.
// Several clients may have a file; the one that came first wins. detach may be called more than once.
func (h *Host) AttachFiles(session string, files agent.Files) (detach func()) {
	h.clientFiles.add(session, &files)
	return sync.OnceFunc(func() { h.clientFiles.remove(session, &files) })
}

// buffer is [agent.Opening.Buffer] of the session.
func (s *Session) buffer(ctx context.Context, path string) (agent.Buffer, bool) {
	clients := s.host.clientFiles.of(s.id)
	if len(clients) == 0 {
		return agent.Buffer{}, false
	}
	path, ok := s.clientPath(path)
	if !ok {
		return agent.Buffer{}, false
	}
	for _, c := range clients {
		if text, err := readFile(ctx, c, path); err == nil {
			return agent.Buffer{Text: text, Write: writer(c, path)}, true
		}
	}
	return agent.Buffer{}, false
}

func readFile(ctx context.Context, files *agent.Files, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	return files.Read(ctx, path)
}

func writer(files *agent.Files, path string) func(context.Context, string) error {
	if files.Write == nil {
		return nil
	}
	return func(ctx context.Context, text string) error {
		ctx, cancel := context.WithTimeout(ctx, fileTimeout)
		defer cancel()
		return files.Write(ctx, path, text)
	}
}

// clientPath returns the name under which clients know a file of the session's directory. It returns false for a file outside of the
// directory, also behind a link, and for one that the policy does not let the agent read: its text could get into an edit.
func (s *Session) clientPath(path string) (string, bool) {
	target := permission.Target(s.directory, path)
	inside, err := filepath.Rel(s.canonical, target)
	if target == "" || err != nil || !filepath.IsLocal(inside) || s.deniesRead(target) {
		return "", false
	}
	return filepath.Join(s.directory, inside), true
}

func (s *Session) deniesRead(target string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return permission.Decide([]permission.Need{{Name: permission.Read, Target: target}}, s.canonical, s.policies()...) == permission.Deny
}
