package sdk_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestModesOfPrompts(t *testing.T) {
	for mode, want := range map[event.Mode]string{
		"": "interactive", event.ModeInteractive: "interactive", event.ModePlan: "plan", event.ModeAutopilot: "autopilot",
	} {
		m := sdk.Message(event.Prompt{Text: "a", Mode: mode})
		assert.Equal(t, want, string(m.AgentMode))
		assert.Equal(t, "a", m.Prompt)
		assert.Empty(t, m.Mode)
		assert.Empty(t, m.DisplayPrompt)
	}
	assert.Equal(t, "immediate", sdk.Message(event.Prompt{Text: "a", Steer: true}).Mode)
}

func TestFirstTextIsSelectionOthersJoinPrompt(t *testing.T) {
	m := sdk.Message(event.Prompt{Text: "look", Attachments: []event.Attachment{
		{Name: "a", Text: "1"}, {Name: "b", Text: "2"}, {Path: "/c.go", First: 3, Last: 4, Text: "x\ny"},
	}})
	assert.Len(t, m.Attachments, 1)
	assert.Equal(t, "look", m.DisplayPrompt)
	assert.Equal(t, "look\n\n<attached_texts>\nb:\n```\n2\n```\n/c.go, lines 3-4:\n```\nx\ny\n```\n</attached_texts>", m.Prompt)
}

func TestTextInThePromptDoesNotLeaveItsBlock(t *testing.T) {
	m := sdk.Message(event.Prompt{Text: "look", Attachments: []event.Attachment{{Name: "a", Text: "1"}, {Name: "b", Text: "2\n```\n3"}}})
	assert.Equal(t, "look\n\n<attached_texts>\nb:\n````\n2\n```\n3\n````\n</attached_texts>", m.Prompt)
}

func TestAttachments(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "a.go"), nil, 0o600))
	for name, tc := range map[string]struct {
		given event.Attachment // DIR stands for the directory
		want  string           // JSON
	}{
		"a file": {
			event.Attachment{Path: "DIR/a.go", Name: "a.go"},
			`{"type":"file","path":"DIR/a.go","displayName":"a.go"}`,
		},
		"lines of a file, counted from 1": {
			event.Attachment{Path: "DIR/a.go", Name: "a.go", First: 3, Last: 5},
			`{"type":"file","path":"DIR/a.go","displayName":"a.go","lineRange":{"start":3,"end":5}}`,
		},
		"a file that was deleted": {
			event.Attachment{Path: "DIR/b.go", Name: "b.go"},
			`{"type":"file","path":"DIR/b.go","displayName":"b.go"}`,
		},
		"a directory": {
			event.Attachment{Path: "DIR", Name: "project"},
			`{"type":"directory","path":"DIR","displayName":"project"}`,
		},
		"lines from the editor, counted from 0": {
			event.Attachment{Path: "DIR/a.go", Name: "a.go", First: 3, Last: 5, Text: "x\ny\nz"},
			`{"type":"selection","filePath":"DIR/a.go","displayName":"a.go","text":"x\ny\nz",
				"selection":{"start":{"line":2,"character":0},"end":{"line":4,"character":0}}}`,
		},
		"a whole file from the editor": {
			event.Attachment{Path: "DIR/new.go", Name: "new.go", Text: "x\ny\n"},
			`{"type":"selection","filePath":"DIR/new.go","displayName":"new.go","text":"x\ny\n",
				"selection":{"start":{"line":0,"character":0},"end":{"line":1,"character":0}}}`,
		},
		"a text without a file": {
			event.Attachment{Name: "Untitled", Text: "x"},
			`{"type":"selection","filePath":"Untitled","displayName":"Untitled","text":"x",
				"selection":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}}`,
		},
		"an image": {
			event.Attachment{Name: "shot", Data: []byte{1, 2}, Type: "image/png"},
			`{"type":"blob","data":"AQI=","mimeType":"image/png","displayName":"shot"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			placed := strings.NewReplacer("DIR", directory)
			tc.given.Path = placed.Replace(tc.given.Path)
			m := sdk.Message(event.Prompt{Text: "a", Attachments: []event.Attachment{tc.given}})
			require.Len(t, m.Attachments, 1)
			got, err := json.Marshal(m.Attachments[0])
			require.NoError(t, err)
			assert.JSONEq(t, placed.Replace(tc.want), string(got))
			assert.Equal(t, "a", m.Prompt)
		})
	}
}

func TestSymbolsFollowPrompt(t *testing.T) {
	m := sdk.Message(event.Prompt{Text: "explain", Attachments: []event.Attachment{
		{Path: "/project/a.go", First: 3, Last: 5, Symbol: "Parse"},
		{Path: "/project/b.go"},
		{Name: "Untitled", Text: "x", Symbol: "main"},
	}})
	assert.Equal(t, "explain\n\n<attached_symbols>\n* Parse in /project/a.go, lines 3-5\n* main in Untitled\n</attached_symbols>", m.Prompt)
	assert.Equal(t, "explain", m.DisplayPrompt)
	assert.Len(t, m.Attachments, 3)
}
