package page

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/render"
	"github.com/copilot-portal/portal/handlers/wire"
)

type searchParams struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

// hit is a text that matches a search.
type hit struct {
	SessionID string   `json:"session_id"`
	Title     string   `json:"title"`
	Directory string   `json:"directory"`
	RunID     string   `json:"run_id,omitempty"`
	Kind      string   `json:"kind"`
	Snippet   string   `json:"snippet"`
	Hits      [][2]int `json:"hits"` // start and end of each matching word, in UTF-16 units
}

// search is portal.sessions.search.
func (n *connection) search(ctx context.Context, p searchParams) (any, error) {
	found, err := n.host().Search(ctx, p.Query, p.Limit)
	if err != nil {
		return nil, err
	}
	return map[string]any{"results": wire.List(found, func(f copilot.Found) hit {
		return hit{f.Session, f.Title, f.Directory, f.Run, string(f.Kind), f.Snippet, inUnits(f.Snippet, f.Hits)}
	})}, nil
}

// inUnits converts positions in a text from bytes to UTF-16 units, which JavaScript counts. An
// invalid byte is one unit: JSON replaces each by one character.
func inUnits(text string, spans [][2]int) [][2]int {
	return wire.List(spans, func(p [2]int) [2]int { return [2]int{render.Units(text[:p[0]]), render.Units(text[:p[1]])} })
}
