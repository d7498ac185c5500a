package ui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// editorContext is where the user works, as the UI reports it (spec/contracts/ui-protocol.md, "6.1
// ui.context.update").
type editorContext struct {
	snapshot
	changed bool // since the last prompt
}

// snapshot is a UiContextSnapshot. An omitted file or selection is gone; an omitted directory
// stays.
type snapshot struct {
	Directory string     `json:"cwd"`
	Root      string     `json:"workspace_root"`
	File      *file      `json:"active_file"`
	Selection *selection `json:"selection"`
}

type file struct {
	Path     string `json:"path"`
	Language string `json:"language_id"`
}

type selection struct {
	Path  string `json:"path"`
	Range struct {
		Start place `json:"start"`
		End   place `json:"end"`
	} `json:"range"`
	Text string `json:"selected_text"`
}

// place is counted from 0; the end of a range is exclusive.
type place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// update is ui.context.update.
func (n *connection) update(_ context.Context, r *jsonrpc.Request) (any, error) {
	var next snapshot
	if err := r.Decode(&next); err != nil {
		return nil, err
	}
	if err := next.check(); err != nil {
		return nil, err
	}
	n.updateContext(next)
	return struct{}{}, nil
}

func (n *connection) updateContext(s snapshot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Directory = cmp.Or(s.Directory, n.context.Directory)
	s.Root = cmp.Or(s.Root, n.context.Root)
	n.context = editorContext{s, true}
}

func (s *snapshot) check() error {
	if s == nil || s.Selection == nil {
		return nil
	}
	first, last := s.Selection.lines()
	switch {
	case s.Selection.Path == "":
		return jsonrpc.InvalidParams(`"selection.path" is missing`)
	case s.Selection.Range.Start.Line < 0 || s.Selection.Range.End.Line < 0 || last < first:
		return jsonrpc.InvalidParams(`"selection.range" is invalid: count lines from 0, and put the end after the start`)
	}
	return nil
}

// lines returns the first and the last line that the selection touches, counted from 1.
func (s selection) lines() (first, last int) {
	first, last = s.Range.Start.Line+1, s.Range.End.Line+1
	if s.Range.End.Column == 0 && last > first {
		last--
	}
	return first, last
}

// workspace returns the directory of new sessions.
func (n *connection) workspace() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return cmp.Or(n.context.Root, n.context.Directory, n.directory, n.api.options.WorkDir)
}

// attachments returns what a prompt says about where the user works.
func (s snapshot) attachments() []event.Attachment {
	var list []event.Attachment
	if about := s.extraText(); about != "" {
		list = append(list, event.Attachment{Name: "The user's editor", Text: about})
	}
	if x := s.Selection; x != nil && x.Text != "" {
		first, last := x.lines()
		list = append(list, event.Attachment{Path: x.Path, First: first, Last: last, Text: x.Text})
	}
	return list
}

// extraText returns the part that has no attachment of its own.
func (s snapshot) extraText() string {
	var b strings.Builder
	if s.Directory != "" {
		fmt.Fprintf(&b, "Current directory: %s\n", s.Directory)
	}
	if s.File != nil && s.File.Path != "" {
		fmt.Fprintf(&b, "Active file: %s", s.File.Path)
		if s.File.Language != "" {
			fmt.Fprintf(&b, " (%s)", s.File.Language)
		}
		b.WriteByte('\n')
	}
	if x := s.Selection; x != nil && x.Text == "" { // the agent can read the lines itself
		first, last := x.lines()
		fmt.Fprintf(&b, "Selected: %s, lines %d-%d\n", x.Path, first, last)
	}
	return b.String()
}
