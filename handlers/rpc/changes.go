package rpc

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/edit"
	"github.com/copilot-portal/portal/handlers/wire"
)

// changesParams name a session and what of its changes: all, or those of a message's run, of a file, of a hunk.
type changesParams struct {
	SessionID string `json:"sessionId"`
	MessageID string `json:"messageId"`
	Path      string `json:"path"`
	Hunk      string `json:"hunk"`
}

type (
	changesResult struct {
		Available  bool         `json:"available"`
		Reason     string       `json:"reason,omitempty"`
		InGit      bool         `json:"inRepository"`
		Runs       []runChanges `json:"runs"`
		Files      []fileChange `json:"files"`
		More       bool         `json:"more"`
		NotCovered []notCovered `json:"notCovered"`
		Undo       *undoable    `json:"undo,omitempty"`
	}
	runChanges struct {
		MessageID string `json:"messageId"`
		StartedAt string `json:"startedAt"`
		EndedAt   string `json:"endedAt,omitempty"`
		Working   bool   `json:"working,omitempty"`
		Files     int    `json:"files"`
		Added     int    `json:"added"`
		Removed   int    `json:"removed"`
	}
	fileChange struct {
		change
		State checkpoint.State `json:"state"`
		Also  bool             `json:"alsoEdited,omitempty"`
	}
	change struct {
		Path    string            `json:"path"`
		OldPath string            `json:"oldPath,omitempty"`
		Status  checkpoint.Status `json:"status"`
		Added   int               `json:"added"`
		Removed int               `json:"removed"`
		Binary  bool              `json:"binary,omitempty"`
		Mode    []string          `json:"mode,omitempty"`
	}
	notCovered struct {
		Path string            `json:"path"`
		Why  checkpoint.Reason `json:"why"`
	}
	undoable struct {
		ID        string          `json:"id"`
		Kind      checkpoint.Kind `json:"kind"`
		MessageID string          `json:"messageId,omitempty"`
		Time      string          `json:"time"`
		By        string          `json:"by"`
		Files     int             `json:"files"`
	}
)

// changes is session.changes.
func (a *API) changes(ctx context.Context, p changesParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	c, err := s.Changes(ctx, p.MessageID)
	if err != nil {
		return nil, err
	}
	result := changesResult{Available: c.Reason == "", Reason: c.Reason, InGit: c.InGit, Runs: []runChanges{}, Files: []fileChange{}, More: c.More, NotCovered: []notCovered{}}
	for _, r := range c.Runs {
		result.Runs = append(result.Runs, runChanges{r.Run, event.FormatTime(r.Started), event.FormatTime(r.Ended), r.Working, r.Files, r.Added, r.Removed})
	}
	for _, f := range c.Files {
		result.Files = append(result.Files, fileChange{describeChange(f.Change), f.State, f.Also})
	}
	for _, u := range c.Uncovered {
		result.NotCovered = append(result.NotCovered, notCovered{u.Path, u.Why})
	}
	if u := c.Undo; u != nil {
		result.Undo = &undoable{u.ID, u.Kind, u.Run, event.FormatTime(u.Time), u.By, u.Count}
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
		OldStart int              `json:"oldStart"`
		OldLines int              `json:"oldLines"`
		NewStart int              `json:"newStart"`
		NewLines int              `json:"newLines"`
		Section  string           `json:"section"`
		State    checkpoint.State `json:"state"`
		Lines    []diffLine       `json:"lines"`
	}
	diffLine struct {
		Kind      string `json:"kind"`
		Text      string `json:"text"`
		NoNewline bool   `json:"noNewline,omitempty"`
	}
)

// diff is session.diff.
func (a *API) diff(ctx context.Context, p changesParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.Path == "" {
		return nil, jsonrpc.InvalidParams(`"path" is missing`)
	}
	d, err := s.Diff(ctx, p.MessageID, p.Path)
	if err != nil {
		return nil, err
	}
	result := diffResult{change: describeChange(d.Change), Truncated: d.Truncated, Hunks: wire.List(d.Hunks, func(h checkpoint.Hunk) hunk {
		lines := wire.List(h.Lines, func(l checkpoint.Line) diffLine { return diffLine{string(l.Kind), l.Text, l.NoNewline} })
		return hunk{h.ID, h.OldStart, h.OldLines, h.NewStart, h.NewLines, h.Section, h.State, lines}
	})}
	return result, nil
}

// restoreResult is the result of a restore.
type restoreResult struct {
	edit.Restored
	SessionID string `json:"sessionId,omitempty"` // the fork
}

// revert is session.revert.
func (a *API) revert(ctx context.Context, p changesParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.Hunk != "" && p.Path == "" {
		return nil, jsonrpc.InvalidParams(`"path" is missing: it names the file of "hunk"`)
	}
	done, err := s.Revert(ctx, p.MessageID, checkpoint.Selection{Path: p.Path, Hunk: p.Hunk}, Origin)
	if err != nil {
		return nil, err
	}
	return edit.Describe(done), nil
}

type restoreParams struct {
	SessionID    string   `json:"sessionId"`
	MessageID    string   `json:"messageId"`
	Paths        []string `json:"paths"`
	Conversation string   `json:"conversation"`
}

// restore is session.restore.
func (a *API) restore(ctx context.Context, p restoreParams) (any, error) {
	fork := p.Conversation == "fork"
	switch {
	case p.MessageID == "":
		return nil, jsonrpc.InvalidParams(`"messageId" is missing`)
	case !fork && p.Conversation != "" && p.Conversation != "keep":
		return nil, jsonrpc.InvalidParams(`"conversation" must be "keep" or "fork"`)
	}
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	done, forked, err := s.Restore(ctx, copilot.Restore{Run: p.MessageID, Paths: p.Paths, Fork: fork, By: Origin})
	if err != nil {
		return nil, err
	}
	result := restoreResult{Restored: edit.Describe(done)}
	if forked != nil {
		a.follow(forked, "")
		result.SessionID = forked.ID()
	}
	return result, nil
}
