package copilot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestParseMode(t *testing.T) {
	for text, want := range map[string]event.Mode{
		"": event.ModeInteractive, "interactive": event.ModeInteractive,
		"plan": event.ModePlan, " Plan\n": event.ModePlan, "AUTOPILOT": event.ModeAutopilot,
	} {
		got, err := event.ParseMode(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	_, err := event.ParseMode("yolo")
	require.EqualError(t, err, `"yolo" is not a prompt mode: use interactive, plan or autopilot`)
	assert.Equal(t, fault.Invalid, fault.KindOf(err))
}

func TestInvalidPrompts(t *testing.T) {
	type attachment = event.Attachment
	tests := []struct {
		name       string
		mode       event.Mode
		attachment attachment
		want       string
	}{
		{"an unknown mode", "yolo", attachment{Text: "x"}, `"yolo" is not a prompt mode: use interactive, plan or autopilot`},
		{"an empty attachment", "", attachment{}, "attachment 1: it has neither a path nor a text nor an image"},
		{"only a name", "", attachment{Name: "x"}, "attachment 1: it has neither a path nor a text nor an image"},
		{"a missing file", "", attachment{Path: "/project/none.go"}, "attachment 1: /project/none.go cannot be read: no such file or directory"},
		{"a directory with lines", "", attachment{Path: "sub", First: 1}, "attachment 1: DIR/sub is a directory and has no lines"},
		{"lines before the first", "", attachment{Path: "a.go", First: -1}, "attachment 1: lines -1 to 0 are not a range"},
		{"an end without a start", "", attachment{Path: "a.go", Last: 3}, "attachment 1: lines 0 to 3 are not a range"},
		{"an end before the start", "", attachment{Path: "a.go", First: 3, Last: 2}, "attachment 1: lines 3 to 2 are not a range"},
		{"an end below zero", "", attachment{Path: "a.go", First: 3, Last: -2}, "attachment 1: lines 3 to -2 are not a range"},
		{"lines without a file", "", attachment{Text: "x", First: 1}, "attachment 1: it has lines but no file"},
		{"an image with a path", "", attachment{Data: []byte{1}, Type: "image/png", Path: "a.png"}, "attachment 1: give an image, a path or a text, not several of them"},
		{"an image with a text", "", attachment{Data: []byte{1}, Type: "image/png", Text: "x"}, "attachment 1: give an image, a path or a text, not several of them"},
		{"data without a type", "", attachment{Data: []byte{1}}, `attachment 1: "" is not the media type of an image`},
		{"data that is not an image", "", attachment{Data: []byte{1}, Type: "text/plain"}, `attachment 1: "text/plain" is not the media type of an image`},
		{"an empty image", "", attachment{Data: []byte{}, Type: "image/png"}, "attachment 1: the image is empty"},
		{"a path with NUL", "", attachment{Path: "a\x00.go"}, "attachment 1: its texts are not valid"},
		{"a path that is not UTF-8", "", attachment{Path: "a\xff.go"}, "attachment 1: its texts are not valid"},
		{"a text that is not UTF-8", "", attachment{Text: "\xff"}, "attachment 1: its texts are not valid"},
		{"a name that is not UTF-8", "", attachment{Text: "x", Name: "\xff"}, "attachment 1: its texts are not valid"},
		{"a symbol that is not UTF-8", "", attachment{Text: "x", Symbol: "\xff"}, "attachment 1: its texts are not valid"},
		{"halves of a character in two texts", "", attachment{Path: "a\xc3", Text: "\xa9"}, "attachment 1: its texts are not valid"},
	}
	for _, tt := range tests {
		inWorld(t, tt.name+" is rejected", copilot.Options{}, func(w *world) {
			w.file("a.go")
			require.NoError(w.t, os.Mkdir(filepath.Join(w.directory, "sub"), 0o700))
			s := w.start()
			run, err := s.Prompt(event.Prompt{Text: "look", Mode: tt.mode, Attachments: []attachment{tt.attachment}})
			assert.Empty(w.t, run)
			require.EqualError(w.t, err, w.inDirectory(tt.want))
			assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
			synctest.Wait()
			assert.Len(w.t, events(w.t, s), 1, "no run has started")
		})
	}
	inWorld(t, "the invalid attachment is named, even in a prompt that steers", copilot.Options{}, func(w *world) {
		w.agents.Script = untilAborted
		s := w.start()
		w.run(s, "a")
		_, err := s.Prompt(event.Prompt{Text: "look", Steer: true, Attachments: []attachment{{Text: "x"}, {Path: "none"}}})
		require.ErrorContains(w.t, err, "attachment 2: ")
		_, err = s.Prompt(event.Prompt{Text: " \n", Steer: true})
		require.ErrorIs(w.t, err, fault.ErrEmptyPrompt)
		synctest.Wait()
		assert.Equal(w.t, 1, w.agents.Count(fake.Send))
	})
}

func TestValidPrompts(t *testing.T) {
	type attachments = []event.Attachment
	tests := []struct {
		name        string
		given, want event.Prompt // DIR stands for the session's directory
	}{
		{
			"a prompt without a mode is interactive",
			event.Prompt{Text: "a"},
			event.Prompt{Text: "a", Mode: event.ModeInteractive},
		},
		{
			"a mode may have spaces and any case",
			event.Prompt{Text: "a", Mode: " Plan "},
			event.Prompt{Text: "a", Mode: event.ModePlan},
		},
		{
			"a relative path starts at the session's directory and names the attachment",
			event.Prompt{Text: "a", Attachments: attachments{{Path: "a.go"}, {Path: "./sub/../a.go"}, {Path: "."}}},
			event.Prompt{Text: "a", Mode: event.ModeInteractive, Attachments: attachments{
				{Path: "DIR/a.go", Name: "a.go"}, {Path: "DIR/a.go", Name: "a.go"}, {Path: "DIR", Name: "BASE"},
			}},
		},
		{
			"a single line ends itself, and a given name stays",
			event.Prompt{Text: "a", Attachments: attachments{{Path: "DIR/a.go", First: 3, Name: "mine", Symbol: "F"}}},
			event.Prompt{Text: "a", Mode: event.ModeInteractive, Attachments: attachments{
				{Path: "DIR/a.go", First: 3, Last: 3, Name: "mine", Symbol: "F"},
			}},
		},
		{
			"a text may belong to an unsaved file",
			event.Prompt{Text: "a", Attachments: attachments{{Path: "new.go", Text: "x", First: 1, Last: 2}, {Text: "x", Name: "Untitled", First: 2}}},
			event.Prompt{Text: "a", Mode: event.ModeInteractive, Attachments: attachments{
				{Path: "DIR/new.go", Name: "new.go", Text: "x", First: 1, Last: 2}, {Text: "x", Name: "Untitled", First: 2, Last: 2},
			}},
		},
		{
			"an image and a directory",
			event.Prompt{Text: "a", Mode: event.ModeAutopilot, Attachments: attachments{{Data: []byte{1}, Type: "image/png"}, {Path: "DIR"}}},
			event.Prompt{Text: "a", Mode: event.ModeAutopilot, Attachments: attachments{{Data: []byte{1}, Type: "image/png"}, {Path: "DIR", Name: "BASE"}}},
		},
		{
			"a prompt that steers without a run is an ordinary one",
			event.Prompt{Text: "a", Steer: true},
			event.Prompt{Text: "a", Mode: event.ModeInteractive},
		},
	}
	for _, tt := range tests {
		inWorld(t, tt.name, copilot.Options{}, func(w *world) {
			w.file("a.go")
			given, want := w.located(tt.given), w.located(tt.want)
			s := w.start()
			_, err := s.Prompt(given)
			require.NoError(w.t, err)
			synctest.Wait()
			assert.Equal(w.t, w.located(tt.given), given, "the caller's prompt does not change")
			recorded := of[event.UserMessage](w.t, s)
			require.Len(w.t, recorded, 1)
			assert.Equal(w.t, want, recorded[0].Prompt)
			sent := w.agents.Calls(fake.Send)
			require.Len(w.t, sent, 1)
			assert.Equal(w.t, want, event.Prompt{
				Text: sent[0].Prompt, Mode: sent[0].Mode, Attachments: sent[0].Attachments, Steer: sent[0].Steer,
			})
		})
	}
}

// file creates an empty file in the session's directory.
func (w *world) file(name string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.directory, name), nil, 0o600))
}

// located replaces DIR in a prompt by the directory.
func (w *world) located(p event.Prompt) event.Prompt {
	attachments := make([]event.Attachment, 0, len(p.Attachments))
	for _, a := range p.Attachments {
		a.Path, a.Name = w.inDirectory(a.Path), w.inDirectory(a.Name)
		attachments = append(attachments, a)
	}
	p.Attachments = attachments
	return p
}

func (w *world) inDirectory(text string) string {
	return strings.NewReplacer("DIR", w.directory, "BASE", filepath.Base(w.directory)).Replace(text)
}

func TestPromptMayHaveOnlyAttachments(t *testing.T) {
	inBubble(t, func(w *world) {
		image := event.Attachment{Data: []byte{1}, Type: "image/png", Name: "shot.png"}
		s := w.start()
		_, err := s.Prompt(event.Prompt{Attachments: []event.Attachment{image}})
		require.NoError(w.t, err)
		settle()
		said := of[event.UserMessage](w.t, s)
		require.Len(w.t, said, 1)
		assert.Equal(w.t, []event.Attachment{image}, said[0].Prompt.Attachments)
	})
}
