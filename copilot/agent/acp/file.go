package acp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/workspace"
)

// Some agents read and write files through their client although it does not offer that. Files of the working directory are
// served as the policy of the session decides.

// readFile reads a text file.
func (a *Agent) readFile(_ context.Context, r *jsonrpc.Request) (func(context.Context) (any, error), error) {
	return a.useFile(r, permission.Read, func(f localFile, p fileParams) (any, error) {
		text, _, err := workspace.ReadWhole([]string{f.directory}, f.name, workspace.MaxFile)
		if err == nil && !utf8.Valid(text) {
			err = errors.New("it is no text in UTF-8")
		}
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
	return a.useFile(r, permission.Write, func(f localFile, p fileParams) (any, error) {
		root, err := os.OpenRoot(f.directory)
		if err != nil {
			return nil, err
		}
		if err = root.MkdirAll(filepath.Dir(f.name), 0o755); err == nil {
			err = root.WriteFile(f.name, []byte(p.Content), 0o644)
		}
		return struct{}{}, errors.Join(err, root.Close())
	})
}

// useFile asks for the permission to use a file and then uses it.
func (a *Agent) useFile(r *jsonrpc.Request, need string, use func(localFile, fileParams) (any, error)) (func(context.Context) (any, error), error) {
	var p fileParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	c, err := a.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	file, err := c.locate(p.Path)
	if err != nil {
		return nil, err
	}
	q, err := c.askFile(need, file.target(), p)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		if q != nil {
			if answer, ok := q.await(ctx); !ok || !answer.Approved {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Refused", "the user refused the use of %s", p.Path)
			}
		}
		result, err := use(file, p)
		if err != nil {
			return nil, jsonrpc.InvalidParams("%s: %v", p.Path, err)
		}
		return result, nil
	}, nil
}

// askFile asks for the permission to use a file; nil if it is granted already.
func (c *conversation) askFile(need, target string, p fileParams) (*openQuestion, error) {
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

// localFile is a file inside the working directory, with links followed.
type localFile struct{ directory, name string }

// target returns the path of the file.
func (f localFile) target() string { return filepath.Join(f.directory, f.name) }

// locate returns the file that a path names. Links must not lead out of the working directory, which may itself be named by one.
func (c *conversation) locate(path string) (localFile, error) {
	target, directory := permission.Target(c.directory, path), permission.Canonical(c.directory)
	if target == "" {
		return localFile{}, jsonrpc.InvalidParams("the path %q is ambiguous", path)
	}
	name, err := filepath.Rel(directory, target)
	if err != nil || !filepath.IsLocal(name) {
		return localFile{}, jsonrpc.InvalidParams("%s is outside of the working directory", path)
	}
	return localFile{directory, name}, nil
}
