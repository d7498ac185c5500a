package page

import (
	"cmp"
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/edit"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/handlers/wire"
)

type changesParams struct {
	oneSession
	RunID string `json:"run_id"`
	Path  string `json:"path"`
	Hunk  string `json:"hunk"`
	HTML  bool   `json:"html"`
}

type (
	changesResult struct {
		Available  bool         `json:"available"`
		Reason     string       `json:"reason,omitempty"` // why there are no checkpoints
		InGit      bool         `json:"in_repository"`
		Runs       []runChanges `json:"runs"`
		Files      []fileChange `json:"files"`
		More       bool         `json:"more"`
		NotCovered []notCovered `json:"not_covered"`
		Undo       *undoable    `json:"undo,omitempty"`
	}
	runChanges struct {
		RunID     string     `json:"run_id"`
		StartedAt time.Time  `json:"started_at"`
		EndedAt   *time.Time `json:"ended_at,omitempty"`
		Working   bool       `json:"working,omitempty"`
		Files     int        `json:"files"`
		Added     int        `json:"added"`
		Removed   int        `json:"removed"`
	}
	fileChange struct {
		change
		State checkpoint.State `json:"state"`
		Also  bool             `json:"also_edited,omitempty"`
	}
	change struct {
		Path    string            `json:"path"`
		OldPath string            `json:"old_path,omitempty"`
		Status  checkpoint.Status `json:"status"`
		Added   int               `json:"added"`
		Removed int               `json:"removed"`
		Binary  bool              `json:"binary,omitempty"`
		Mode    []string          `json:"mode,omitempty"` // before and after, if it has changed
	}
	notCovered struct {
		Path string            `json:"path"`
		Why  checkpoint.Reason `json:"why"`
	}
	undoable struct {
		ID    string          `json:"id"`
		Kind  checkpoint.Kind `json:"kind"`
		RunID string          `json:"run_id,omitempty"`
		Time  time.Time       `json:"time"`
		By    string          `json:"by"`
		Files int             `json:"files"`
	}
)

// changes is portal.session.changes.
func (n *connection) changes(ctx context.Context, p changesParams) (any, error) {
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	c, err := s.Changes(ctx, p.RunID)
	if err != nil {
		return nil, err
	}
	result := changesResult{Available: c.Reason == "", Reason: c.Reason, InGit: c.InGit, Runs: []runChanges{}, Files: []fileChange{}, More: c.More, NotCovered: []notCovered{}}
	for _, r := range c.Runs {
		run := runChanges{r.Run, r.Started, nil, r.Working, r.Files, r.Added, r.Removed}
		if !r.Ended.IsZero() {
			run.EndedAt = &r.Ended
		}
		result.Runs = append(result.Runs, run)
	}
	for _, f := range c.Files {
		result.Files = append(result.Files, fileChange{describeChange(f.Change), f.State, f.Also})
	}
	for _, u := range c.Uncovered {
		result.NotCovered = append(result.NotCovered, notCovered{u.Path, u.Why})
	}
	if u := c.Undo; u != nil {
		result.Undo = &undoable{u.ID, u.Kind, u.Run, u.Time, u.By, u.Count}
	}
	return result, nil
}

func describeChange(c checkpoint.Change) change {
	return change{Path: c.Path, OldPath: c.OldPath, Status: c.Status, Added: c.Added, Removed: c.Removed, Binary: c.Binary, Mode: c.ModeChange()}
}

type (
	diffResult struct {
		change
		Hunks     []hunk `json:"hunks"`
		Truncated bool   `json:"truncated,omitempty"`
	}
	hunk struct {
		ID       string           `json:"id"`
		OldStart int              `json:"old_start"`
		OldLines int              `json:"old_lines"`
		NewStart int              `json:"new_start"`
		NewLines int              `json:"new_lines"`
		Section  string           `json:"section"`
		State    checkpoint.State `json:"state"`
		Lines    []line           `json:"lines"`
	}
	line struct {
		Kind      string `json:"kind"`
		Text      string `json:"text"`
		NoNewline bool   `json:"no_newline,omitempty"`
		HTML      string `json:"html,omitempty"`
	}
)

// diff is portal.session.diff.
func (n *connection) diff(ctx context.Context, p changesParams) (any, error) {
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.Path == "" {
		return nil, jsonrpc.InvalidParams(`"path" is missing`)
	}
	d, err := s.Diff(ctx, p.RunID, p.Path)
	if err != nil {
		return nil, err
	}
	result := diffResult{change: describeChange(d.Change), Truncated: d.Truncated, Hunks: wire.List(d.Hunks, func(h checkpoint.Hunk) hunk {
		lines := wire.List(h.Lines, func(l checkpoint.Line) line { return line{Kind: string(l.Kind), Text: l.Text, NoNewline: l.NoNewline} })
		return hunk{h.ID, h.OldStart, h.OldLines, h.NewStart, h.NewLines, h.Section, h.State, lines}
	})}
	if p.HTML {
		addColors(result.Hunks, cmp.Or(d.OldPath, d.Path), d.Path)
	}
	return result, nil
}

// restoreResult is the result of a restore.
type restoreResult struct {
	edit.Restored
	SessionID string `json:"session_id,omitempty"` // the fork
}

// revertChanges is portal.session.revert.
func (n *connection) revertChanges(ctx context.Context, p changesParams) (any, error) {
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.Hunk != "" && p.Path == "" {
		return nil, jsonrpc.InvalidParams(`"path" is missing: it names the file of "hunk"`)
	}
	done, err := s.Revert(ctx, p.RunID, checkpoint.Selection{Path: p.Path, Hunk: p.Hunk}, ui.Origin)
	if err != nil {
		return nil, err
	}
	return edit.Describe(done), nil
}

type restoreParams struct {
	oneSession
	RunID        string   `json:"run_id"`
	Paths        []string `json:"paths"`
	Conversation string   `json:"conversation"`
}

// restore is portal.session.restore.
func (n *connection) restore(ctx context.Context, p restoreParams) (any, error) {
	if p.RunID == "" {
		return nil, jsonrpc.InvalidParams(`"run_id" is missing`)
	}
	fork := p.Conversation == "fork"
	if !fork && p.Conversation != "" && p.Conversation != "keep" {
		return nil, jsonrpc.InvalidParams(`"conversation" must be "keep" or "fork"`)
	}
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	done, forked, err := s.Restore(ctx, copilot.Restore{Run: p.RunID, Paths: p.Paths, Fork: fork, By: ui.Origin})
	if err != nil {
		return nil, err
	}
	result := restoreResult{Restored: edit.Describe(done)}
	if forked != nil {
		result.SessionID = forked.ID()
	}
	return result, nil
}
