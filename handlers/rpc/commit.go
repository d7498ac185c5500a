package rpc

import (
	"context"

	"github.com/copilot-portal/portal/copilot/changes"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type (
	proposeCommitParams struct {
		SessionID string `json:"sessionId"`
		MessageID string `json:"messageId"`
		Ask       bool   `json:"ask"` // the model for the message
	}
	commitProposal struct {
		Available bool         `json:"available"`
		Reason    string       `json:"reason,omitempty"` // why nothing can be committed
		Branch    string       `json:"branch"`           // "" if HEAD is detached
		Author    string       `json:"author"`
		Message   string       `json:"message"`
		ByModel   bool         `json:"byModel"`
		Files     []commitFile `json:"files"`
		Staged    int          `json:"otherStaged"`
		Hooks     []string     `json:"skippedHooks"`
		Signed    bool         `json:"skipsSignature"`
	}
	commitFile struct {
		fileChange
		Problem string `json:"problem,omitempty"` // why it cannot be committed
	}
)

// proposeCommit is commit.propose.
func (a *API) proposeCommit(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p proposeCommitParams
	s, err := a.sessionIn(ctx, r, &p, &p.SessionID)
	if err != nil {
		return nil, err
	}
	c, err := s.ProposeCommit(ctx, p.MessageID, p.Ask)
	if err != nil {
		return nil, err
	}
	return describeProposal(c), nil
}

func describeProposal(c changes.CommitProposal) commitProposal {
	result := commitProposal{
		Available: c.Reason == "", Reason: c.Reason, Branch: c.Head.Branch, Author: c.Head.Author, Message: c.Message, ByModel: c.ByModel,
		Files: []commitFile{}, Staged: c.Staged, Hooks: append([]string{}, c.Head.Hooks...), Signed: c.Head.IsSigned,
	}
	for _, f := range c.Files {
		result.Files = append(result.Files, commitFile{fileChange{describeChange(f.Change), f.State, f.Also}, f.Problem})
	}
	return result
}

type (
	createCommitParams struct {
		SessionID string   `json:"sessionId"`
		Paths     []string `json:"paths"`
		Message   string   `json:"message"`
		Branch    string   `json:"branch"` // of the proposal
	}
	createdCommit struct {
		Commit string `json:"commit"`
		Branch string `json:"branch"` // "" if HEAD is detached
		Files  int    `json:"files"`
	}
)

// createCommit is commit.create.
func (a *API) createCommit(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p createCommitParams
	s, err := a.sessionIn(ctx, r, &p, &p.SessionID)
	if err != nil {
		return nil, err
	}
	c, err := s.Commit(ctx, p.Paths, p.Message, p.Branch)
	if err != nil {
		return nil, err
	}
	return createdCommit{c.Hash, c.Branch, c.Files}, nil
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

// proposePull is pullRequest.propose.
func (a *API) proposePull(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := a.sessionOf(ctx, r)
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

type (
	createPullParams struct {
		SessionID string   `json:"sessionId"`
		Commands  []string `json:"commands"` // of the proposal
		Title     string   `json:"title"`
		Body      string   `json:"body"`
	}
	createdPull struct {
		URL string `json:"url"`
	}
)

// createPull is pullRequest.create.
func (a *API) createPull(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p createPullParams
	s, err := a.sessionIn(ctx, r, &p, &p.SessionID)
	if err != nil {
		return nil, err
	}
	url, err := s.CreatePullRequest(ctx, p.Commands, p.Title, p.Body)
	if err != nil {
		return nil, err
	}
	return createdPull{url}, nil
}
