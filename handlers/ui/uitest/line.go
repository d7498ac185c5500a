package uitest

import (
	"fmt"
	"regexp"
	"strings"
)

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// WithoutIDs returns a text with "…" in place of every UUID.
func WithoutIDs(text string) string { return uuids.ReplaceAllString(text, "…") }

// Line returns a message in short: a response is "ok" or "error <code>", an event its
// number, type and what there is to read.
func Line(f Document) string {
	p, _ := f["params"].(Document)
	switch f["method"] {
	case nil:
		if e, _ := f["error"].(Document); e != nil {
			return fmt.Sprint("error ", e["code"])
		}
		return "ok"
	case "agent.event":
		e, _ := p["event"].(Document)
		return strings.TrimSpace(fmt.Sprint(p["seq"], " ", texts(e, "type", "step_number", "title", "target", "tool", "status", "content", "result", "diff", "ending")))
	case "run.status":
		return strings.TrimSpace("status " + texts(p, "status", "message"))
	}
	return strings.TrimSpace(fmt.Sprint(f["method"]) + " " + texts(p, "title", "message", "name", "context_left_percent"))
}

func texts(d Document, names ...string) string {
	var parts []string
	for _, n := range names {
		if v, ok := d[n]; ok && v != "" {
			parts = append(parts, WithoutIDs(fmt.Sprint(v)))
		}
	}
	return strings.Join(parts, " ")
}
