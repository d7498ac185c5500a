package rpc

import (
	"context"

	"github.com/copilot-portal/portal/copilot/event"
)

// fileParams name a file of a session's directory and a window of its lines.
type fileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	From      int    `json:"from"`
	Limit     int    `json:"limit"`
}

type (
	fileResult struct {
		Path       string     `json:"path"`
		Size       int64      `json:"size"`
		ModifiedAt string     `json:"modifiedAt"`
		Binary     bool       `json:"binary,omitempty"`
		Encoding   string     `json:"encoding,omitempty"`
		LineEnds   string     `json:"lineEnds,omitempty"`
		Count      int        `json:"count"`
		From       int        `json:"from"`
		Lines      []fileLine `json:"lines"`
	}
	fileLine struct {
		Text string `json:"text"`
		Cut  int    `json:"cut,omitempty"`
	}
)

// readFile is file.read.
func (a *API) readFile(ctx context.Context, p fileParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	f, err := s.ReadFile(p.Path, p.From, p.Limit)
	if err != nil {
		return nil, err
	}
	result := fileResult{f.Path, f.Size, event.FormatTime(f.Modified), f.Binary, string(f.Encoding), string(f.LineEnds), f.Count, f.From, make([]fileLine, 0, len(f.Lines))}
	for _, l := range f.Lines {
		result.Lines = append(result.Lines, fileLine(l))
	}
	return result, nil
}
