package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// shown puts together what a UI shows of a text as it comes.
type shown struct{ html, tail, whole string }

func (s *shown) see(frames []document) {
	for _, f := range frames {
		p, _ := f["params"].(document)
		e, _ := p["event"].(document)
		meta, _ := p["meta"].(document)
		if h, ok := e["html"].(document); ok && e["target"] == "text" {
			s.html += h["append"].(string)
			keep, _ := h["keep"].(float64)
			tail, _ := h["tail"].(string)
			s.tail = s.tail[:int(keep)] + tail
		}
		if h, ok := meta["html"].(string); ok && e["type"] == "final" {
			s.whole = h
		}
	}
}

func TestTextIsShownAsHTMLWhileItComes(t *testing.T) {
	for _, can := range [][]string{{"supports_deltas", "supports_html"}, {"supports_deltas", "supports_html", "supports_html_changes"}} {
		t.Run(can[len(can)-1], func(t *testing.T) { showsTextAsHTML(t, can) })
	}
}

func showsTextAsHTML(t *testing.T, can []string) {
	t.Helper()
	inTime(t, func(p *portal) {
		next := make(chan struct{})
		p.Agents.Script = func(t *fake.Turn) {
			t.Emit(event.MessageStarted{ID: "m"})
			for _, piece := range []string{"# Ti", "tle\n\nSome *te", "xt*\n\n- a\n- ", "b\n\n<script>alert(1)</script> done"} {
				<-next
				t.Emit(event.MessageDelta{ID: "m", Text: piece})
			}
			t.Emit(event.MessageEnded{ID: "m", Text: "# Title\n\nSome *text*\n\n- a\n- b\n\n<script>alert(1)</script> done"})
		}
		whole := p.Able(can...)
		_, session := whole.Prompt("go")
		var here, there shown
		u, cursor := p.Able(can...), ""
		u.Ask("portal.session.attach", document{"session_id": session})
		for range 4 { // the other one reconnects after each delta
			next <- struct{}{}
			time.Sleep(time.Second) // more than a frame
			there.see(u.Raw())
			for _, f := range u.Raw() {
				params, _ := f["params"].(document)
				if meta, ok := params["meta"].(document); ok {
					cursor, _ = meta["cursor"].(string)
				}
			}
			u = p.Able(can...)
			u.Ask("portal.session.attach", document{"session_id": session, "after": cursor})
		}
		there.see(u.Raw())
		here.see(whole.Raw())
		require.NotEmpty(t, here.whole)
		assert.Equal(t, here.whole, here.html+here.tail)
		assert.Equal(t, here, there)
		assert.NotContains(t, here.whole, "<script")
		assert.Contains(t, here.whole, "<em>text</em>")
	})
}

func TestToolsAndQuestionsAreShownAsHTML(t *testing.T) {
	const diff = "diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n-old\n+new\n+more\n"
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			t.Emit(event.ToolStarted{ID: "c", Name: "edit"}, event.ToolOutput{ID: "c", Text: "\x1b[31mred"})
			t.Ask(event.Question{Kind: event.AskPermission, Call: "c", Names: []string{permission.Write}, Title: "Write", Detail: diff})
			t.Emit(event.ToolEnded{ID: "c", Result: &event.ToolResult{Content: "ok", Detail: diff}})
		}
		u, plain := p.Able("supports_deltas", "supports_html"), p.Able()
		_, session := u.Prompt("go")
		plain.Ask("portal.session.attach", document{"session_id": session})
		u.Reply("ui.confirm.request", document{"ok": true})
		var parts []string
		for _, f := range u.Raw() {
			params, _ := f["params"].(document)
			meta, _ := params["meta"].(document)
			e, _ := params["event"].(document)
			switch {
			case f["method"] == "ui.confirm.request":
				parts = append(parts, fmt.Sprint("question ", strings.Contains(fmt.Sprint(meta["html"]), "</")))
			case e["type"] == "tool_result":
				parts = append(parts, fmt.Sprint("result +", meta["added"], " -", meta["removed"], " ", meta["detail"] == diff))
			case e["type"] == "delta":
				html, _ := e["html"].(document)
				parts = append(parts, fmt.Sprint("output ", strings.Contains(fmt.Sprint(html["tail"]), "red</span>")))
			}
		}
		assert.Equal(t, []string{"output true", "question true", "result +2 -1 true"}, parts)
		for _, f := range plain.Raw() {
			assert.NotContains(t, fmt.Sprint(f), "html:", "who did not ask for it gets none")
			assert.NotContains(t, fmt.Sprint(f), "detail:")
		}
	})
}
