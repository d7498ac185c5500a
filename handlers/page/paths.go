package page

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/workspace"
	"github.com/copilot-portal/portal/handlers/wire"
)

type pathParams struct {
	Path string `json:"path"`
}

// choice is a directory or a file to choose from.
type choice struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

func choicesOf(entries []workspace.Entry) []choice {
	return wire.List(entries, func(e workspace.Entry) choice { return choice(e) })
}

// completeDirectory is portal.directory.complete.
func (n *connection) completeDirectory(_ context.Context, p pathParams) (any, error) {
	entries, more, err := workspace.Directories(p.Path)
	if err != nil {
		return nil, err
	}
	return map[string]any{"entries": choicesOf(entries), "more": more}, nil
}

type directoryResult struct {
	Path   string     `json:"path"` // absolute
	Exists bool       `json:"exists"`
	Git    *gitResult `json:"git,omitempty"`
}

type gitResult struct {
	Branch  string `json:"branch"`
	Changed *int   `json:"changed,omitempty"` // nil if counting takes too long
}

// describeDirectory is portal.directory.describe.
func (n *connection) describeDirectory(ctx context.Context, p pathParams) (any, error) {
	d, err := workspace.Describe(ctx, p.Path)
	if err != nil {
		return nil, err
	}
	result := directoryResult{Path: d.Path, Exists: d.Exists}
	if d.Git != nil {
		result.Git = &gitResult{Branch: d.Git.Branch}
		if d.Git.Changed != workspace.Unknown {
			result.Git.Changed = &d.Git.Changed
		}
	}
	return result, nil
}

// maxPaths limits the paths of one request.
const maxPaths = 1000

type pathsParams struct {
	oneSession
	Paths []string `json:"paths"`
}

// sessionWithPaths returns the session of a request about paths, unless there are too many.
func (n *connection) sessionWithPaths(ctx context.Context, p pathsParams) (*copilot.Session, error) {
	if len(p.Paths) > maxPaths {
		return nil, jsonrpc.InvalidParams(`"paths" has %d paths; at most %d are allowed`, len(p.Paths), maxPaths)
	}
	return n.api.find(ctx, p.SessionID)
}

// missingFiles is portal.files.missing: it returns the paths that do not exist.
func (n *connection) missingFiles(ctx context.Context, p pathsParams) (any, error) {
	s, err := n.sessionWithPaths(ctx, p)
	if err != nil {
		return nil, err
	}
	missing := []string{}
	for _, path := range p.Paths {
		absolute := path
		if !filepath.IsAbs(path) {
			absolute = filepath.Join(s.Info().Directory, path)
		}
		if _, err := os.Lstat(absolute); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, path)
		}
	}
	return map[string]any{"paths": missing}, nil
}

type completeFileParams struct {
	oneSession
	Directory string `json:"directory"`
	Query     string `json:"query"`
}

// completeFile is portal.files.complete: files of a session's directory, or of one in which a session may start.
func (n *connection) completeFile(ctx context.Context, p completeFileParams) (any, error) {
	if p.SessionID != "" && p.Directory != "" {
		return nil, jsonrpc.InvalidParams(`give "session_id" or "directory", not both`)
	}
	entries, more, err := n.findFiles(ctx, p)
	if err != nil {
		return nil, err
	}
	return map[string]any{"files": choicesOf(entries), "more": more}, nil
}

func (n *connection) findFiles(ctx context.Context, p completeFileParams) ([]workspace.Entry, bool, error) {
	if p.Directory != "" {
		return n.api.files.CompleteIn(p.Directory, p.Query)
	}
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, false, err
	}
	return n.api.files.Complete(s.Info().Directory, p.Query)
}
