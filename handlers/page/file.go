package page

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/workspace"
	"github.com/copilot-portal/portal/handlers/render"
	"github.com/copilot-portal/portal/handlers/wire"
)

type readFileParams struct {
	oneSession
	Path  string `json:"path"`
	From  int    `json:"from"`
	Limit int    `json:"limit"`
	HTML  bool   `json:"html"`
}

type (
	fileResult struct {
		Path       string             `json:"path"` // relative to the session's directory
		Size       int64              `json:"size"` // bytes
		ModifiedAt time.Time          `json:"modified_at"`
		Binary     bool               `json:"binary,omitempty"`
		Encoding   workspace.Encoding `json:"encoding,omitempty"`
		LineEnds   workspace.LineEnds `json:"line_ends,omitempty"`
		NoFinalEnd bool               `json:"no_final_end,omitempty"`
		Count      int                `json:"count"`
		From       int                `json:"from"`
		Lines      []fileLine         `json:"lines"`
	}
	fileLine struct {
		Text string `json:"text"`
		HTML string `json:"html,omitempty"`
		Cut  int    `json:"cut,omitempty"` // bytes that the text lacks
	}
)

// readFile is portal.file.read.
func (n *connection) readFile(ctx context.Context, p readFileParams) (any, error) {
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	f, err := s.ReadFile(p.Path, p.From, p.Limit)
	if err != nil {
		return nil, err
	}
	result := fileResult{f.Path, f.Size, f.Modified, f.Binary, f.Encoding, f.LineEnds, f.NoFinalEnd, f.Count, f.From, nil}
	result.Lines = wire.List(f.Lines, func(l workspace.Line) fileLine { return fileLine{Text: l.Text, Cut: l.Cut} })
	if p.HTML {
		addHTML(result.Lines, f.Path)
	}
	return result, nil
}

func addHTML(lines []fileLine, file string) {
	texts := wire.List(lines, func(l fileLine) string { return l.Text })
	for i, html := range render.Lines(texts, file) {
		lines[i].HTML = html
	}
}

// findViewable is portal.files.find: it returns the paths that portal.file.read can open.
func (n *connection) findViewable(ctx context.Context, p pathsParams) (any, error) {
	s, err := n.sessionWithPaths(ctx, p)
	if err != nil {
		return nil, err
	}
	return map[string]any{"paths": append([]string{}, s.FindFiles(p.Paths)...)}, nil
}
