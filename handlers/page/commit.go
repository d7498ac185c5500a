package page

import (
	"context"

	"github.com/copilot-portal/portal/copilot/changes"
)

type (
	proposeCommitParams struct {
		SessionID string `json:"session_id"`
		RunID     string `json:"run_id"`
		Ask       bool   `json:"ask"` // the model for the message
	}
	commitProposal struct {
		Available bool         `json:"available"`
		Reason    string       `json:"reason,omitempty"` // why nothing can be committed
		Branch    string       `json:"branch"`           // "" if HEAD is detached
		Author    string       `json:"author"`
		Message   string       `json:"message"`
		ByModel   bool         `json:"by_model"`
		Files     []commitFile `json:"files"`
		Staged    int          `json:"other_staged"`
		Hooks     []string     `json:"skipped_hooks"`
		Signed    bool         `json:"skips_signature"`
	}
	commitFile struct {
		fileChange
		Problem string `json:"problem,omitempty"` // why it cannot be committed
	}
)

// proposeCommit is portal.commit.propose.
func (n *connection) proposeCommit(ctx context.Context, p proposeCommitParams) (any, error) {
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	c, err := s.ProposeCommit(ctx, p.RunID, p.Ask)
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
