package ui

import (
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/render"
)

// htmlRenderer adds HTML to the messages of a session (spec/page.md, "HTML"), for a UI that shows
// it. It keeps the incomplete blocks. It is used by one goroutine.
type htmlRenderer struct {
	streams map[string]*blockStream // by block
	outputs map[string]string       // by tool call: the end of its output so far
}

// blockStream is an incomplete block.
type blockStream struct {
	render.Stream

	hasTail bool // the UI has the previous tail
}

const (
	liveLines       = 40       // lines shown of a running tool's output
	liveOutputBytes = 16 << 10 // bytes kept for that
)

func newHTMLRenderer() *htmlRenderer {
	return &htmlRenderer{streams: map[string]*blockStream{}, outputs: map[string]string{}}
}

// render adds the HTML to a message. With changes, a delta has only what changes in the previous tail.
func (r *htmlRenderer) render(m message, changes bool) message {
	switch e := m.event.(type) {
	case delta:
		m.event = r.renderDelta(e, changes)
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
	r.endBlock(m)
	return m
}

// endBlock forgets complete blocks.
func (r *htmlRenderer) endBlock(m message) {
	switch e := m.event.(type) {
	case block, content:
		delete(r.streams, m.id)
	case toolResult:
		delete(r.outputs, e.ID)
	}
	if m.isTerminal() { // also the blocks that the run interrupted
		*r = *newHTMLRenderer()
	}
}

// restore recreates the incomplete blocks from what a UI has.
func (r *htmlRenderer) restore(known []message) {
	for _, m := range known {
		if e, ok := m.event.(delta); ok {
			r.renderDelta(e, false)
		}
		r.endBlock(m)
	}
}

// renderDelta adds the complete and the incomplete part to a delta.
func (r *htmlRenderer) renderDelta(e delta, changes bool) delta {
	if e.Target == "tool" {
		output := r.outputs[e.ID] + e.Content
		output = output[max(0, len(output)-liveOutputBytes):]
		r.outputs[e.ID] = output
		e.HTML = &htmlDelta{Tail: render.Terminal(output, liveLines)}
		return e
	}
	s := r.streams[e.ID]
	if s == nil {
		s = &blockStream{}
		r.streams[e.ID] = s
	}
	e.HTML = s.add(e.Content, changes)
	return e
}

// add returns the HTML of a delta. The first one has the whole tail, because a UI that attached again may have another: how
// a long tail is rendered depends on how its text was split.
func (s *blockStream) add(piece string, changes bool) *htmlDelta {
	var h htmlDelta
	if changes && s.hasTail {
		c := s.Change(piece)
		return &htmlDelta{c.Append, c.Keep, c.Tail}
	}
	h.Append, h.Tail = s.Add(piece)
	s.hasTail = changes
	return &h
}

// outcomeHTML renders the diff of a tool call, otherwise its output.
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

// questionHTML renders what a question is about; "" if its text says everything.
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
