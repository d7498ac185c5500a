package ui

import (
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/render"
)

// htmlRenderer makes HTML of what a session is told by (spec/page.md, HTML), for a UI
// that shows it. It knows the blocks that are not complete yet. Used by who may
// send of the session.
type htmlRenderer struct {
	streams map[string]*render.Stream // by block
	outputs map[string]string         // by tool call: the end of its output so far
}

const (
	liveLines       = 40       // of the output of a tool that runs
	liveOutputBytes = 16 << 10 // of it that are kept for that
)

func newHTMLRenderer() *htmlRenderer {
	return &htmlRenderer{streams: map[string]*render.Stream{}, outputs: map[string]string{}}
}

// render adds the HTML to a message.
func (d *htmlRenderer) render(m message) message {
	switch e := m.event.(type) {
	case delta:
		m.event = d.renderDelta(e)
	case block:
		m.html = render.Markdown(e.Content)
	case content:
		if e.Type == "final" {
			m.html = render.Markdown(e.Content)
		}
	case toolResult:
		m.html, m.added, m.removed = outcomeHTML(e.Result, m.detail)
	case plan:
		m.html = render.Markdown(e.Text)
	}
	d.endBlock(m)
	return m
}

// endBlock forgets the pieces of what is complete.
func (d *htmlRenderer) endBlock(m message) {
	switch e := m.event.(type) {
	case block, content:
		delete(d.streams, m.id)
	case toolResult:
		delete(d.outputs, e.ID)
	}
	if m.isTerminal() { // what was cut off with the run
		*d = *newHTMLRenderer()
	}
}

// restore makes it know the blocks that are not complete in what a UI has.
func (d *htmlRenderer) restore(known []message) {
	for _, m := range known {
		if e, ok := m.event.(delta); ok {
			d.renderDelta(e)
		}
		d.endBlock(m)
	}
}

// renderDelta adds to a delta what is complete now, and what is not.
func (d *htmlRenderer) renderDelta(e delta) delta {
	if e.Target == "tool" {
		output := d.outputs[e.ID] + e.Content
		output = output[max(0, len(output)-liveOutputBytes):]
		d.outputs[e.ID] = output
		e.HTML = &htmlDelta{Tail: render.Terminal(output, liveLines)}
		return e
	}
	s := d.streams[e.ID]
	if s == nil {
		s = &render.Stream{}
		d.streams[e.ID] = s
	}
	e.HTML = &htmlDelta{}
	e.HTML.Append, e.HTML.Tail = s.Add(e.Content)
	return e
}

// outcomeHTML is the diff of what a tool has changed, else its output.
func outcomeHTML(result, detail string) (html string, added, removed int) {
	if isDiff(detail) {
		return render.Diff(strings.TrimLeft(detail, "\n"))
	}
	return render.Terminal(result, 0), 0, 0
}

func isDiff(text string) bool {
	text = strings.TrimLeft(text, "\n")
	return strings.HasPrefix(text, "diff --git ") || strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "@@ ")
}

// questionHTML shows what a question is about; "" if a text is all that there is.
func questionHTML(q event.Question) string {
	switch {
	case q.Kind == event.AskPlan:
		return render.Markdown(q.Text)
	case q.Kind != event.AskPermission || q.Detail == "":
		return ""
	case isDiff(q.Detail):
		html, _, _ := render.Diff(q.Detail)
		return html
	}
	for _, name := range q.Names {
		if name == permission.Exec || strings.HasPrefix(name, "git.") {
			return render.Code(q.Detail, "bash", "")
		}
	}
	return render.Code(q.Detail, "", "")
}
