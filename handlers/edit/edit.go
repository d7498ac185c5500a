// Package edit has methods that undo or publish what a session has edited, for the dialects that speak JSON-RPC (spec/rpc.md, spec/page.md).
// Besides the session, their members are single words, so all dialects share them.
package edit

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

// API answers the methods. It is safe for concurrent use and needs no close.
type API struct {
	Session func(context.Context, *jsonrpc.Request) (*copilot.Session, error) // returns the one that params name
	By      string                                                            // the dialect, which changes files
}

// find decodes the members of params that are not the session's, and finds the session.
func (a API) find(ctx context.Context, r *jsonrpc.Request, params any) (*copilot.Session, error) {
	if err := r.Decode(params); err != nil {
		return nil, err
	}
	return a.Session(ctx, r)
}

type (
	// Restored is what was done to files.
	Restored struct {
		ID    string   `json:"id"` // "" if there was nothing to do
		Files []file   `json:"files"`
		Count int      `json:"count"`
		Left  []string `json:"left,omitempty"`
	}
	file struct {
		Path   string `json:"path"`
		Status string `json:"status"`
	}
)

// Describe encodes what was done to files.
func Describe(r checkpoint.Restored) Restored {
	files := wire.List(r.Files, func(f checkpoint.File) file { return file{f.Path, f.Status()} })
	return Restored{ID: r.ID, Files: files, Count: r.Count, Left: r.Left}
}

// UndoParams name what to undo.
type UndoParams struct {
	ID string `json:"id"`
}

// Undo undoes a revert or a restore.
func (a API) Undo(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p UndoParams
	s, err := a.find(ctx, r, &p)
	if err != nil {
		return nil, err
	}
	done, err := s.Undo(ctx, p.ID, a.By)
	if err != nil {
		return nil, err
	}
	return Describe(done), nil
}

// CommitParams describe a commit.
type CommitParams struct {
	Paths   []string `json:"paths"`
	Message string   `json:"message"`
	Branch  string   `json:"branch"` // of the proposal
}

type commit struct {
	Commit string `json:"commit"`
	Branch string `json:"branch"` // "" if HEAD is detached
	Files  int    `json:"files"`
}

// CreateCommit commits files.
func (a API) CreateCommit(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p CommitParams
	s, err := a.find(ctx, r, &p)
	if err != nil {
		return nil, err
	}
	c, err := s.Commit(ctx, p.Paths, p.Message, p.Branch)
	if err != nil {
		return nil, err
	}
	return commit{c.Hash, c.Branch, c.Files}, nil
}

type pullProposal struct {
	Available  bool     `json:"available"`
	Reason     string   `json:"reason,omitempty"` // why none can be created
	Repository string   `json:"repository"`
	Branch     string   `json:"branch"`
	Base       string   `json:"base"` // "" if it is unknown
	Title      string   `json:"title"`
	Body       string   `json:"body"`
	Commits    int      `json:"commits"`
	Commands   []string `json:"commands"`
}

// ProposePull proposes a pull request.
func (a API) ProposePull(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := a.Session(ctx, r)
	if err != nil {
		return nil, err
	}
	p, err := s.ProposePullRequest(ctx)
	if err != nil {
		return nil, err
	}
	result := pullProposal{
		Available: p.Reason == "", Reason: p.Reason, Branch: p.Branch, Base: p.Base, Title: p.Title, Body: p.Body,
		Commits: p.Commits, Commands: append([]string{}, p.Commands...),
	}
	if p.To.Repo != "" {
		result.Repository = p.To.String()
	}
	return result, nil
}

// PullParams describe a pull request.
type PullParams struct {
	Commands []string `json:"commands"` // of the proposal
	Title    string   `json:"title"`
	Body     string   `json:"body"`
}

// CreatePull creates a pull request.
func (a API) CreatePull(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p PullParams
	s, err := a.find(ctx, r, &p)
	if err != nil {
		return nil, err
	}
	url, err := s.CreatePullRequest(ctx, p.Commands, p.Title, p.Body)
	if err != nil {
		return nil, err
	}
	return map[string]string{"url": url}, nil
}
