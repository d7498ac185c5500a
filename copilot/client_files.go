package copilot

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/permission"
)

// fileTimeout limits a request to a client about a file; then the file on disk is used.
const fileTimeout = 10 * time.Second

// fileRetry is how long a client is left out that has not answered in time. Otherwise it would delay each use of a file.
const fileRetry = time.Minute

// attachedFiles are those of one client.
type attachedFiles struct {
	agent.Files

	leftOut atomic.Pointer[time.Time] // until then; nil: it is not
}

// AttachFiles makes the agent of a session use the files that a client has open, until detach is called. The agent's conversation is opened again
// before the next prompt if it was opened without files, because looking for them costs each prompt some milliseconds.
// The session need not be in memory.
// Several clients may have a file; the one that came first wins. detach may be called more than once.
func (h *Host) AttachFiles(session string, files agent.Files) (detach func()) {
	return h.clientFiles.add(session, &attachedFiles{Files: files})
}

// usesFiles reports whether the agent must look for files of clients. The caller must hold the lock.
func (s *Session) usesFiles() bool { return s.expectsFiles || len(s.host.clientFiles.of(s.id)) > 0 }

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
		if text, ok := c.read(ctx, path); ok {
			return agent.Buffer{Text: text, Write: c.writer(path)}, true
		}
	}
	return agent.Buffer{}, false
}

func (c *attachedFiles) read(ctx context.Context, path string) (text string, ok bool) {
	if until := c.leftOut.Load(); until != nil && time.Now().Before(*until) {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	text, err := c.Read(ctx, path)
	c.note(err)
	return text, err == nil
}

// writer returns the function that writes a file, or nil if the client cannot.
func (c *attachedFiles) writer(path string) func(context.Context, string) error {
	if c.Write == nil {
		return nil
	}
	return func(ctx context.Context, text string) error {
		ctx, cancel := context.WithTimeout(ctx, fileTimeout)
		defer cancel()
		err := c.Write(ctx, path, text)
		c.note(err)
		return err
	}
}

// note leaves the client out for a while if it has not answered in time.
func (c *attachedFiles) note(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		until := time.Now().Add(fileRetry)
		c.leftOut.Store(&until)
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
