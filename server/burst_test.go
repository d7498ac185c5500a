package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// answers are the two forms in which a client of a dialect has the answer of a run.
type answers struct {
	pieces string // put together; "" if the client joined later and gets only the whole
	whole  string // of the end of the text; "" if the dialect has no such message
}

// burstReaders read one session to the end of its run.
var burstReaders = map[string]func(t *testing.T, p *portaltest.Portal, session string) answers{
	"REST": func(_ *testing.T, p *portaltest.Portal, session string) (a answers) {
		var text strings.Builder
		all := p.Follow(session, fmt.Sprintf("token-%d", time.Now().UnixNano())).Wait("onIdle", func(all []portaltest.Response) bool {
			return len(all) > 0 && all[len(all)-1].Name() == "onIdle"
		})
		for _, r := range all {
			switch r.Name() {
			case "onMessage":
				text.WriteString(r.Text("delta"))
			case "onEndMessage":
				a.whole = r.Text("completeContent")
			}
		}
		a.pieces = text.String()
		return a
	},
	"JSON-RPC": func(t *testing.T, p *portaltest.Portal, session string) answers {
		t.Helper()
		var all []streamEvent
		ide{t, p}.follow(session, "0-0", func(e streamEvent) bool {
			all = append(all, e)
			return e.name != "done"
		})
		return answers{pieces: shown(all)} // the plugin appends every content, that of the end included
	},
	"UI": func(t *testing.T, p *portaltest.Portal, session string) (a answers) {
		t.Helper()
		u := &watcher{UI: p.UI(""), t: t}
		u.ask("initialize", document{
			"protocol_version": "0", "client": document{"name": "test", "version": "1"}, "ui_capabilities": document{"supports_deltas": true},
		})
		u.request("portal.session.attach", document{"session_id": session})
		var text strings.Builder
		for {
			d := u.next()
			params, _ := d["params"].(document)
			event, _ := params["event"].(document)
			content, _ := event["content"].(string)
			switch {
			case event["type"] == "delta" && event["target"] == "text":
				text.WriteString(content)
			case event["type"] == "final":
				a.whole = content
			case params["status"] == "completed":
				a.pieces = text.String()
				return a
			}
		}
	},
}

// TestLongBurstIsTheSameInEveryDialect sends an answer faster than it is read. The Copilot CLI then repeats pieces and reorders
// them.
func TestLongBurstIsTheSameInEveryDialect(t *testing.T) {
	t.Parallel()
	chunks := portaltest.Repeat(4_000, 60_000)
	var words strings.Builder
	for i := range chunks {
		fmt.Fprintf(&words, "w%d ", i+1)
	}
	whole := strings.TrimSpace(words.String())
	prompt := fmt.Sprintf("%d tokens", chunks)

	p := portaltest.Start(t, portaltest.Options{})
	session := p.StartSession(t.TempDir(), "")
	p.Query(session, "wait 500 ms, then "+prompt)
	check := func(t *testing.T, a answers) {
		t.Helper()
		if a.pieces != "" || a.whole == "" {
			equal(t, whole, a.pieces)
		}
		if a.whole != "" {
			equal(t, whole, a.whole)
		}
	}
	for _, when := range []string{"live", "late"} {
		t.Run(when, func(t *testing.T) {
			for dialect, read := range burstReaders {
				t.Run(dialect, func(t *testing.T) {
					t.Parallel()
					check(t, read(t, p, session))
				})
			}
		})
	}

	t.Run("operations", func(t *testing.T) {
		visitor := visit(t, p, "")
		conn := watch(t, p, visitor, operate(t, p, visitor, fmt.Sprintf(`{"type": "prompt", "prompt": %q, "model": "demo"}`, prompt)), -1)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(agentStarts)))
		all, _ := readMessages(t, conn, nil)
		var text strings.Builder
		for _, m := range all {
			if strings.HasPrefix(m.Content, "w1 ") || text.Len() > 0 && text.Len() < len(whole) { // the answer is one long line
				text.WriteString(m.Content)
			}
		}
		equal(t, whole, text.String())
	})
	t.Run("ask", func(t *testing.T) {
		_, stdout, _ := inPipe(t, "", "ask", prompt)
		equal(t, whole+"\n", stdout)
	})
	t.Run("ask --json", func(t *testing.T) {
		_, stdout, _ := inPipe(t, "", "ask", "--json", prompt)
		var a answers
		var text strings.Builder
		for line := range strings.Lines(stdout) {
			var d struct{ Type, Text string }
			require.NoError(t, json.Unmarshal([]byte(line), &d))
			switch d.Type {
			case "message.delta":
				text.WriteString(d.Text)
			case "message":
				a.whole = d.Text
			}
		}
		a.pieces = text.String()
		check(t, a)
	})
}

// equal compares long texts. It shows only where they begin to differ.
func equal(t *testing.T, want, got string) {
	t.Helper()
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	assert.Equal(t, want[same:min(same+80, len(want))], got[same:min(same+80, len(got))], "from byte %d of %d", same, len(want))
}
