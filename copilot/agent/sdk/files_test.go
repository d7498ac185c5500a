package sdk_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
)

// editing is a conversation about one file, which an editor may have open.
type editing struct {
	*talk

	file string

	mu     sync.Mutex
	open   bool
	buffer string
	saved  int // how often the agent has written the buffer
}

func edit(t *testing.T, a agent.Agent, text string) *editing {
	t.Helper()
	e := &editing{}
	e.talk = open(t, a, func(o *agent.Opening) { o.Buffer = e.read })
	e.begin(text)
	return e
}

// begin writes the file.
func (e *editing) begin(text string) {
	e.t.Helper()
	e.file = filepath.Join(e.opening.Directory, "a.txt")
	require.NoError(e.t, os.WriteFile(e.file, []byte(text), 0o600))
}

func (e *editing) read(_ context.Context, path string) (agent.Buffer, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return agent.Buffer{Text: e.buffer, Write: e.write}, e.open && path == e.file
}

// write saves a text, as editors do.
func (e *editing) write(_ context.Context, text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buffer = text
	e.saved++
	return os.WriteFile(e.file, []byte(text), 0o600)
}

// has opens the file in the editor with a text that is not saved.
func (e *editing) has(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open, e.buffer = true, text
}

// do sends a prompt and answers all its questions. It returns the first question and the events.
func (e *editing) do(prompt string, approve bool, meanwhile func()) (asked event.Question, all []event.Body) {
	e.t.Helper()
	e.send(prompt)
	for {
		b, ok := e.next(late)
		require.True(e.t, ok, "%s", show(all))
		all = append(all, b)
		switch b := b.(type) {
		case event.QuestionAsked:
			if asked.ID == "" {
				asked = b.Question
			}
			if meanwhile != nil {
				meanwhile()
			}
			e.answer(b.Question, event.Answer{Approved: approve, Reason: "not today"})
		case event.Idle:
			return asked, all
		}
	}
}

func (e *editing) texts() (disk, buffer string) {
	b, err := os.ReadFile(e.file)
	require.NoError(e.t, err)
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(b), e.buffer
}

// both checks that the file and the buffer have a text.
func (e *editing) both(text string) {
	e.t.Helper()
	disk, buffer := e.texts()
	assert.Equal(e.t, text, disk, "on disk")
	assert.Equal(e.t, text, buffer, "in the buffer")
}

func TestToolsUseUnsavedChanges(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	for name, test := range map[string]func(*testing.T, *sdk.Agent){
		"view shows the buffer":                         viewShowsTheBuffer,
		"view shows lines of the buffer":                viewShowsLinesOfTheBuffer,
		"view says what a large file lacks":             viewSaysWhatALargeFileLacks,
		"a refused view says nothing":                   refusedViewSaysNothing,
		"an edit keeps unsaved changes":                 editKeepsUnsavedChanges,
		"an edit may change an unsaved line":            editMayChangeAnUnsavedLine,
		"a refused edit changes nothing":                refusedEditChangesNothing,
		"an edit reaches an unchanged buffer":           editReachesAnUnchangedBuffer,
		"what is typed during a question is kept":       typedDuringAQuestionIsKept,
		"an edit that contradicts leaves the buffer":    contradictionLeavesTheBuffer,
		"several edits are all made":                    severalEditsAreAllMade,
		"a command is not undone by an outdated buffer": commandIsNotUndone,
		"ends of lines are kept":                        endsOfLinesAreKept,
		"a client that cannot write keeps its buffer":   clientThatCannotWrite,
		"a new file is given to the editor":             newFileIsGiven,
		"without an editor the file on disk is used":    withoutAnEditor,
	} {
		t.Run(name, func(t *testing.T) { test(t, a) })
	}
}

const saved, typed = "one\ntwo\nthree\nfour\n", "zero\none\ntwo\nthree\nfour\n"

func viewShowsTheBuffer(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(typed)
	_, events := e.do("read `a.txt`", true, nil)
	result := all[event.ToolEnded](events)[0].Result
	assert.True(t, strings.HasPrefix(result.Content, typed), result.Content)
	assert.Contains(t, result.Content, "unsaved changes")
	assert.Equal(t, typed, result.Detail)
	disk, buffer := e.texts()
	assert.Equal(t, saved, disk)
	assert.Equal(t, typed, buffer)
	assert.Zero(t, e.saved, "reading saves nothing")
}

func viewShowsLinesOfTheBuffer(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(typed)
	_, events := e.do(fmt.Sprintf("call `view` `{\"path\": %q, \"view_range\": [2, 3]}`", e.file), true, nil)
	assert.True(t, strings.HasPrefix(all[event.ToolEnded](events)[0].Result.Content, "one\ntwo\n\n"), show(events))
}

func viewSaysWhatALargeFileLacks(t *testing.T, a *sdk.Agent) {
	t.Helper()
	large := strings.Repeat("a line of a long text\n", 3000)
	e := edit(t, a, large)
	e.has("zero\n" + large)
	_, events := e.do("read `a.txt`", true, nil)
	result := all[event.ToolEnded](events)[0].Result.Content
	assert.Contains(t, result, "too large")
	assert.Contains(t, result, "unsaved changes")
	assert.Less(t, len(result), 1000)
}

func refusedViewSaysNothing(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has("s3cret\n" + saved)
	_, events := e.do("read `a.txt`", false, nil)
	assert.NotContains(t, show(events), "s3cret")
}

func editKeepsUnsavedChanges(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(typed)
	asked, events := e.do("edit `a.txt` `three` `THREE`", true, nil)
	e.both("zero\none\ntwo\nTHREE\nfour\n")
	assert.Contains(t, asked.Detail, "+zero", "the user permits both changes")
	assert.Contains(t, asked.Detail, "+THREE")
	assert.Equal(t, "edit", all[event.ToolStarted](events)[0].Name)
	e.do("edit `a.txt` `zero` `ZERO`", true, nil)
	e.both("ZERO\none\ntwo\nTHREE\nfour\n")
}

func editMayChangeAnUnsavedLine(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(typed)
	e.do("edit `a.txt` `zero` `ZERO`", true, nil)
	e.both("ZERO\none\ntwo\nthree\nfour\n")
}

func refusedEditChangesNothing(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(typed)
	_, events := e.do("edit `a.txt` `three` `THREE`", false, nil)
	assert.Equal(t, event.CodeDenied, all[event.ToolEnded](events)[0].Error.Code)
	disk, buffer := e.texts()
	assert.Equal(t, saved, disk)
	assert.Equal(t, typed, buffer)
	assert.Zero(t, e.saved)
	e.do("edit `a.txt` `three` `THREE`", true, nil)
	e.both("zero\none\ntwo\nTHREE\nfour\n")
}

func editReachesAnUnchangedBuffer(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(saved)
	e.do("edit `a.txt` `three` `THREE`", true, nil)
	e.both("one\ntwo\nTHREE\nfour\n")
}

func typedDuringAQuestionIsKept(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(typed)
	e.do("edit `a.txt` `three` `THREE`", true, func() { e.has(typed + "five\n") })
	e.both("zero\none\ntwo\nTHREE\nfour\nfive\n")
}

func contradictionLeavesTheBuffer(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(saved)
	e.do("edit `a.txt` `three` `THREE`", true, func() { e.has("one\ntwo\n3\nfour\n") })
	disk, buffer := e.texts()
	assert.Equal(t, "one\ntwo\nTHREE\nfour\n", disk)
	assert.Equal(t, "one\ntwo\n3\nfour\n", buffer)
}

func severalEditsAreAllMade(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(typed)
	e.do("edit `a.txt` `three` `THREE`, edit `a.txt` `zero` `ZERO`, edit `a.txt` `two` `TWO` and read `a.txt`", true, nil)
	e.both("ZERO\none\nTWO\nTHREE\nfour\n")
}

func commandIsNotUndone(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.has(saved)
	_, events := e.do("read `a.txt`, run `sed -i s/two/TWO/ a.txt`, read `a.txt` and edit `a.txt` `three` `THREE`", true, nil)
	assert.Contains(t, all[event.ToolEnded](events)[2].Result.Content, "TWO")
	e.both("one\nTWO\nTHREE\nfour\n")
	e = edit(t, a, saved)
	e.has(saved)
	e.do("run `sed -i s/two/TWO/ a.txt` and edit `a.txt` `three` `THREE`", true, nil)
	disk, buffer := e.texts()
	assert.Equal(t, "one\nTWO\nTHREE\nfour\n", disk)
	assert.Equal(t, saved, buffer, "the editor may have unsaved changes")
}

func endsOfLinesAreKept(t *testing.T, a *sdk.Agent) {
	t.Helper()
	windows := func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") }
	e := edit(t, a, windows(saved))
	e.has(windows(typed))
	e.do("edit `a.txt` `two\nthree` `TWO\nTHREE`", true, nil)
	e.both(windows("zero\none\nTWO\nTHREE\nfour\n"))
}

func clientThatCannotWrite(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := &editing{}
	e.talk = open(t, a, func(o *agent.Opening) {
		o.Buffer = func(context.Context, string) (agent.Buffer, bool) { return agent.Buffer{Text: typed}, true }
	})
	e.begin(saved)
	e.do("edit `a.txt` `three` `THREE`", true, nil)
	disk, _ := e.texts()
	assert.Equal(t, "zero\none\ntwo\nTHREE\nfour\n", disk)
}

func newFileIsGiven(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	require.NoError(t, os.Remove(e.file))
	e.has("")
	e.do("write `a.txt` `new\n`", true, nil)
	e.both("new\n")
}

func withoutAnEditor(t *testing.T, a *sdk.Agent) {
	t.Helper()
	e := edit(t, a, saved)
	e.buffer = typed
	_, events := e.do("read `a.txt` and edit `a.txt` `three` `THREE`", true, nil)
	assert.Equal(t, saved, all[event.ToolEnded](events)[0].Result.Content)
	disk, buffer := e.texts()
	assert.Equal(t, "one\ntwo\nTHREE\nfour\n", disk)
	assert.Equal(t, typed, buffer)
}
