package page

import (
	"context"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/render"
)

const maxMarkdown = 1 << 20 // bytes

type markdownParams struct {
	Text string `json:"text"`
}

// markdown is portal.markdown: it renders text that belongs to no session, such as the result of
// an operation, as safe HTML.
func (n *connection) markdown(_ context.Context, p markdownParams) (any, error) {
	if len(p.Text) > maxMarkdown {
		return nil, fault.Errorf(fault.Invalid, "text has more than %d MiB", maxMarkdown>>20)
	}
	return map[string]string{"html": render.Markdown(p.Text)}, nil
}
