package acp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Some agents read and write files through their client although it does not offer that. Files of the working directory are
// served as the policy of the session decides.

// readFile reads a text file.
func (a *Agent) readFile(_ context.Context, r *jsonrpc.Request) (func(context.Context) (any, error), error) {
	return a.useFile(r, permission.Read, func(root *os.Root, path string, p fileParams) (any, error) {
		text, err := root.ReadFile(path)
		return acp.FileText{Content: selectLines(string(text), p.Line, p.Limit)}, err
	})
}

// selectLines returns limit lines from a line on; 0 means all.
func selectLines(text string, line, limit int) string {
	lines := slices.Collect(strings.Lines(text))
	lines = lines[min(max(line-1, 0), len(lines)):]
	if limit > 0 {
		lines = lines[:min(limit, len(lines))]
	}
	return strings.Join(lines, "")
}

// writeFile writes a text file.
func (a *Agent) writeFile(_ context.Context, r *jsonrpc.Request) (func(context.Context) (any, error), error) {
	return a.useFile(r, permission.Write, func(root *os.Root, path string, p fileParams) (any, error) {
		if err := root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		return struct{}{}, root.WriteFile(path, []byte(p.Content), 0o644)
	})
}

// useFile asks for the permission to use a file and then uses it.
func (a *Agent) useFile(r *jsonrpc.Request, need string, use func(*os.Root, string, fileParams) (any, error)) (func(context.Context) (any, error), error) {
	var p fileParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	c, err := a.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	q, err := c.askFile(need, p)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		if q != nil {
			if answer, ok := q.await(ctx); !ok || !answer.Approved {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Refused", "the user refused the use of %s", p.Path)
			}
		}
		return c.inDirectory(p, use)
	}, nil
}

// askFile asks for the permission to use a file; nil if it is granted already.
func (c *conversation) askFile(need string, p fileParams) (*openQuestion, error) {
	target := permission.Target(c.directory, p.Path)
	if target == "" {
		return nil, jsonrpc.InvalidParams("the path %q is ambiguous", p.Path)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.activeTurn()
	switch {
	case t == nil:
		return nil, jsonrpc.InvalidParams("files are available only during a prompt")
	case need == permission.Write && slices.Contains(t.granted, target):
		t.granted = slices.DeleteFunc(t.granted, func(granted string) bool { return granted == target })
		return nil, nil //nolint:nilnil // no question is necessary
	}
	q := event.Question{Title: "Read " + p.Path, Detail: p.Path}
	if need == permission.Write {
		q = event.Question{Title: "Write " + p.Path, Detail: p.Content}
	}
	q.SetNeeds(permission.Need{Name: need, Target: target})
	return c.ask(q), nil
}

// inDirectory uses a file inside the working directory.
func (c *conversation) inDirectory(p fileParams, use func(*os.Root, string, fileParams) (any, error)) (any, error) {
	path, err := filepath.Rel(c.directory, p.Path)
	if err != nil || !filepath.IsLocal(path) {
		return nil, jsonrpc.InvalidParams("%s is outside of the working directory", p.Path)
	}
	root, err := os.OpenRoot(c.directory)
	if err != nil {
		return nil, jsonrpc.InvalidParams("the working directory cannot be opened: %v", err)
	}
	result, err := use(root, path, p)
	if err = errors.Join(err, root.Close()); err != nil {
		return nil, jsonrpc.InvalidParams("%s: %v", p.Path, err)
	}
	return result, nil
}
