package ui_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestPromptInputParts(t *testing.T) {
	for name, test := range map[string]struct {
		params document
		text   string
		want   []event.Attachment
		mode   event.Mode
	}{
		"a text": {params: document{"input": document{"type": "text", "text": "hi"}}, text: "hi"},
		"parts": {
			params: document{"input": document{"type": "parts", "parts": []document{
				{"type": "text", "text": "look"},
				{"type": "image", "media_type": "image/png", "data": "AAEC"},
				{"type": "image_url", "image_url": document{"url": "data:image/gif;base64,AAE="}},
				{"type": "text", "text": "well"},
			}}},
			text: "look\n\nwell",
			want: []event.Attachment{
				{Type: "image/png", Name: "image", Data: []byte{0, 1, 2}}, {Type: "image/gif", Name: "image", Data: []byte{0, 1}},
			},
		},
		"a mode and files": {
			params: document{
				"input":  document{"type": "text", "text": "hi"},
				"portal": document{"mode": "plan", "attachments": []document{{"path": "/x.go", "first": 2, "last": 3, "text": "a\nb"}}},
			},
			text: "hi", mode: event.ModePlan,
			want: []event.Attachment{{Path: "/x.go", First: 2, Last: 3, Text: "a\nb", Name: "x.go"}},
		},
		"where the user works": {
			params: document{"input": document{"type": "text", "text": "hi"}, "ui_context": document{
				"cwd": "/tmp", "active_file": document{"path": "a.go", "language_id": "go"},
				"selection": document{
					"path": "/a.go", "selected_text": "x",
					"range": document{"start": document{"line": 4, "column": 0}, "end": document{"line": 6, "column": 0}},
				},
			}},
			text: "hi",
			want: []event.Attachment{
				{Name: "The user's editor", Text: "Current directory: /tmp\nActive file: a.go (go)\n"},
				{Path: "/a.go", First: 5, Last: 6, Text: "x", Name: "a.go"},
			},
		},
		"a selection without its text": {
			params: document{"input": document{"type": "text", "text": "hi"}, "ui_context": document{
				"selection": document{"path": "b.go", "range": document{"start": document{"line": 0, "column": 1}, "end": document{"line": 0, "column": 2}}},
			}},
			text: "hi",
			want: []event.Attachment{{Name: "The user's editor", Text: "Selected: b.go, lines 1-1\n"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				u := p.Able()
				require.Contains(t, u.Ask("run.start", test.params), "run_id")
				sent := p.Agents.Calls(fake.Send)[0]
				assert.Equal(t, test.text, sent.Prompt)
				assert.ElementsMatch(t, test.want, sent.Attachments)
				if test.mode != "" {
					assert.Equal(t, test.mode, sent.Mode)
				}
			})
		})
	}
}

func TestBadInputIsRefused(t *testing.T) {
	text := document{"type": "text", "text": "hi"}
	inTime(t, func(p *portal) {
		u := p.Able()
		for name, params := range map[string]any{
			"nothing":               document{},
			"a list":                []int{1},
			"no type":               document{"input": document{"text": "x"}},
			"another type":          document{"input": document{"type": "sound"}},
			"an empty prompt":       document{"input": document{"type": "text", "text": " "}},
			"a number for a text":   document{"input": document{"type": "text", "text": 7}},
			"another part":          document{"input": document{"type": "parts", "parts": []document{{"type": "sound"}}}},
			"an image that is none": document{"input": document{"type": "parts", "parts": []document{{"type": "image", "media_type": "image/png", "data": "?"}}}},
			"an image elsewhere":    document{"input": document{"type": "parts", "parts": []document{{"type": "image_url", "image_url": document{"url": "https://x/"}}}}},
			"no media type":         document{"input": document{"type": "parts", "parts": []document{{"type": "text", "text": "x"}, {"type": "image", "data": "AAEC"}}}},
			"another mode":          document{"input": text, "portal": document{"mode": "wild"}},
			"a range backwards": document{"input": text, "ui_context": document{
				"selection": document{"path": "a", "range": document{"start": document{"line": 3}, "end": document{"line": 1}}},
			}},
			"a directory that is not there": document{"input": text, "ui_context": document{"workspace_root": "/not/there"}},
		} {
			u.Heard()
			assert.Equal(t, -32602, u.Ask("run.start", params)["code"], name)
		}
		assert.Empty(t, p.Agents.Calls(fake.Send))
	})
}

func TestContextReachesTheNextPromptOnce(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		u.Frame(document{"jsonrpc": "2.0", "method": "ui.context.update", "params": document{"cwd": "/tmp"}})
		u.Say("run.start", document{"input": document{"type": "text", "text": "a"}})
		synctest.Wait()
		assert.Equal(t, document{}, u.Ask("ui.context.update", document{"active_file": document{"path": "b.go"}}))
		u.Prompt("b")
		synctest.Wait()
		u.Prompt("c")
		synctest.Wait()
		var got []string
		for _, c := range p.Agents.Calls(fake.Send) {
			text := ""
			for _, a := range c.Attachments {
				text += a.Text
			}
			got = append(got, text)
		}
		assert.Equal(t, []string{"Current directory: /tmp\n", "Current directory: /tmp\nActive file: b.go\n", ""}, got)
		assert.Equal(t, "/tmp", p.Agents.Calls(fake.Open)[0].Opening.Directory)
	})
}

func TestUnknownMembersAreRecorded(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		r := u.Ask("run.start", document{
			"input": document{"type": "text", "text": "a"}, "meta": document{"tab": 7}, "colour": "blue",
		})
		s, err := p.Host.Session(t.Context(), r["session_id"].(string))
		require.NoError(t, err)
		entries, err := s.Record().Next(t.Context(), 0, 100)
		require.NoError(t, err)
		for _, e := range entries {
			if m, ok := e.Value.Body.(event.UserMessage); ok {
				assert.JSONEq(t, `{"meta":{"tab":7},"colour":"blue"}`, string(m.Prompt.Meta))
				return
			}
		}
		assert.Fail(t, "no prompt")
	})
}

func TestCompactionRunsOnRequest(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		u.Prompt("a")
		u.Heard()
		u.Say("run.start", document{"input": document{"type": "text", "text": ""}, "force_compaction": true})
		assert.Equal(t, []string{"ok", "status running", "0 compaction_start", "1 compaction_complete", "2 final", "status completed"}, u.Heard())
		u.Say("run.start", document{"input": document{"type": "text", "text": "b"}, "force_compaction": true})
		assert.Equal(t, []string{"ok", "status running", "0 compaction_start", "1 compaction_complete", "2 final b", "status completed"}, u.Heard())
	})
}

func FuzzParams(f *testing.F) {
	for _, method := range []string{
		"initialize", "run.start", "run.cancel", "ui.context.update", "session.history", "model.set", "portal.session.attach", "portal.session.earlier",
		"portal.sessions.watch", "portal.sessions.search", "portal.session.rename", "portal.session.delete", "portal.session.fork", "portal.session.resend",
		"portal.session.changes", "portal.session.diff", "portal.session.revert", "portal.session.restore", "portal.session.undo",
		"portal.commit.propose", "portal.commit.create", "portal.pull_request.propose", "portal.pull_request.create",
		"portal.session.permit", "portal.session.compact", "portal.session.extensions", "portal.server.signin",
		"portal.directory.complete", "portal.directory.describe", "portal.files.complete", "portal.files.missing", "portal.files.find", "portal.file.read", "portal.status", "portal.markdown",
		"portal.queue.list", "portal.queue.edit", "portal.queue.move", "portal.queue.send",
		"portal.extensions.list", "portal.servers.check", "portal.server.add", "portal.server.remove", "portal.server.enable", "portal.skill.enable",
	} {
		for _, params := range []string{
			`{}`, `[]`, `null`, `{"session_id":"x","after":"1-2.3.4"}`, `{"input":{"type":"parts","parts":[{"type":"image_url"}]}}`,
			`{"selection":{"path":"a","range":{"start":{"line":1e9}}}}`, `{"tools":[{}],"input":{"type":"text","text":"x"}}`,
			`{"path":"~/\u0000","query":"\ud800","limit":-1,"refresh":true}`, `{"session_id":"x","title":"","permissions":{"*":"no"},"server":"y"}`,
			`{"session_id":"x","run_id":"y","path":"../z","hunk":"0","paths":["/"],"conversation":"no"}`,
		} {
			f.Add(method, params)
		}
	}
	f.Fuzz(func(t *testing.T, method, params string) {
		if !json.Valid([]byte(params)) {
			return
		}
		inTime(t, func(p *portal) {
			u := p.Able()
			u.MaySendInvalid()
			u.Say(method, json.RawMessage(params))
			assert.NotEmpty(t, u.Heard(), "everything that is asked is answered")
		})
	})
}
