package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	acpsdk "github.com/coder/acp-go-sdk"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/acp/acptest"
	"github.com/copilot-portal/portal/server/portaltest"
)

// acpProcess returns the command `portal acp` with a private home.
func acpProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(portaltest.Binary(t), append([]string{"acp"}, args...)...) // the program under test, which ends with its input
	command.Env, command.Dir = portaltest.Environ(t.TempDir()), t.TempDir()
	command.Stderr = new(bytes.Buffer)
	return command
}

// forward copies lines, and checks each as a message of one side.
func forward(checker *acptest.Checker, from acptest.Side, in io.Reader, out io.WriteCloser) {
	defer out.Close()
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			checker.Check(from, line)
			if _, failed := out.Write(line); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// acpEditor is an editor with the Go SDK. It cannot do more than the SDK's version of the protocol.
type acpEditor struct {
	*testing.T
	*acpsdk.ClientSideConnection

	checker *acptest.Checker
	leave   func()
	mu      sync.Mutex
	text    string
	prompts string
	asked   []string
	answer  string            // the kind of option that it chooses
	buffers map[string]string // the files that it has open; nil if agents may not read them
}

// runACP connects an editor to a command.
func runACP(t *testing.T, command *exec.Cmd) *acpEditor {
	t.Helper()
	return runACPWith(t, command, nil)
}

// runACPWith connects an editor that has files open, unless they are nil.
func runACPWith(t *testing.T, command *exec.Cmd, buffers map[string]string) *acpEditor {
	t.Helper()
	e := &acpEditor{T: t, checker: acptest.New(t), answer: "allow_once", buffers: buffers}
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	fromEditor, toPortal := io.Pipe()
	fromPortal, toEditor := io.Pipe()
	var copies sync.WaitGroup
	copies.Go(func() { forward(e.checker, acptest.Client, fromEditor, in) })
	copies.Go(func() { forward(e.checker, acptest.Agent, out, toEditor) })
	e.ClientSideConnection = acpsdk.NewClientSideConnection(e, toPortal, fromPortal)
	e.leave = sync.OnceFunc(func() {
		_ = toPortal.Close()
		copies.Wait()
		require.NoError(t, command.Wait(), command.Stderr)
		e.checker.Finish(t)
	})
	t.Cleanup(e.leave)
	can := acpsdk.ClientCapabilities{Fs: acpsdk.FileSystemCapabilities{ReadTextFile: buffers != nil, WriteTextFile: buffers != nil}}
	_, err = e.Initialize(t.Context(), acpsdk.InitializeRequest{ProtocolVersion: acpsdk.ProtocolVersionNumber, ClientCapabilities: can})
	require.NoError(t, err, command.Stderr)
	return e
}

// RequestPermission answers with the option of a kind.
func (e *acpEditor) RequestPermission(_ context.Context, p acpsdk.RequestPermissionRequest) (acpsdk.RequestPermissionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, *p.ToolCall.Title)
	for _, o := range p.Options {
		if string(o.Kind) == e.answer {
			return acpsdk.RequestPermissionResponse{Outcome: acpsdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return acpsdk.RequestPermissionResponse{Outcome: acpsdk.NewRequestPermissionOutcomeCancelled()}, nil
}

// SessionUpdate collects texts.
func (e *acpEditor) SessionUpdate(_ context.Context, p acpsdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := p.Update.AgentMessageChunk; c != nil {
		e.text += c.Content.Text.Text
	}
	if c := p.Update.UserMessageChunk; c != nil {
		e.prompts += c.Content.Text.Text
	}
	return nil
}

func (e *acpEditor) said() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text
}

// ReadTextFile returns the text of a file that is open.
func (e *acpEditor) ReadTextFile(_ context.Context, p acpsdk.ReadTextFileRequest) (r acpsdk.ReadTextFileResponse, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text, ok := e.buffers[p.Path]
	if !ok {
		return r, acpsdk.NewInvalidParams("not open")
	}
	return acpsdk.ReadTextFileResponse{Content: text}, nil
}

// WriteTextFile changes the text of a file and saves it.
func (e *acpEditor) WriteTextFile(_ context.Context, p acpsdk.WriteTextFileRequest) (r acpsdk.WriteTextFileResponse, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buffers[p.Path] = p.Content
	return r, os.WriteFile(p.Path, []byte(p.Content), 0o600)
}

// buffer returns the text of an open file.
func (e *acpEditor) buffer(path string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.buffers[path]
}

// The portal uses no terminals of editors.

func (*acpEditor) CreateTerminal(context.Context, acpsdk.CreateTerminalRequest) (r acpsdk.CreateTerminalResponse, err error) {
	return r, acpsdk.NewMethodNotFound("terminal/create")
}

func (*acpEditor) KillTerminal(context.Context, acpsdk.KillTerminalRequest) (r acpsdk.KillTerminalResponse, err error) {
	return r, acpsdk.NewMethodNotFound("terminal/kill")
}

func (*acpEditor) TerminalOutput(context.Context, acpsdk.TerminalOutputRequest) (r acpsdk.TerminalOutputResponse, err error) {
	return r, acpsdk.NewMethodNotFound("terminal/output")
}

func (*acpEditor) ReleaseTerminal(context.Context, acpsdk.ReleaseTerminalRequest) (r acpsdk.ReleaseTerminalResponse, err error) {
	return r, acpsdk.NewMethodNotFound("terminal/release")
}

func (*acpEditor) WaitForTerminalExit(context.Context, acpsdk.WaitForTerminalExitRequest) (r acpsdk.WaitForTerminalExitResponse, err error) {
	return r, acpsdk.NewMethodNotFound("terminal/wait_for_exit")
}

func (e *acpEditor) open(dir string) acpsdk.SessionId {
	e.Helper()
	s, err := e.NewSession(e.Context(), acpsdk.NewSessionRequest{Cwd: dir, McpServers: []acpsdk.McpServer{}})
	require.NoError(e, err)
	return s.SessionId
}

func (e *acpEditor) send(session acpsdk.SessionId, prompt string) acpsdk.StopReason {
	e.Helper()
	r, err := e.Prompt(e.Context(), acpsdk.PromptRequest{SessionId: session, Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock(prompt)}})
	require.NoError(e, err)
	return r.StopReason
}

func TestEditorsWorkWithSessions(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]func(t *testing.T) *exec.Cmd{
		"on stdio": func(t *testing.T) *exec.Cmd {
			t.Helper()
			return acpProcess(t, "--demo")
		},
		"attached": func(t *testing.T) *exec.Cmd {
			t.Helper()
			p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--token", "secret", "--base-path", "/portal"}})
			return acpProcess(t, "--attach", p.URL+"/portal/", "--token", "secret")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, dir := runACP(t, command(t)), t.TempDir()
			session := e.open(dir)
			assert.Equal(t, acpsdk.StopReasonEndTurn, e.send(session, "run `echo hero > made` and say `all done`"))
			assert.Equal(t, []string{"Run echo hero > made"}, e.asked)
			assert.FileExists(t, filepath.Join(dir, "made"))
			assert.Contains(t, e.said(), "all done")
			e.answer = "reject_once"
			e.send(session, "run `echo villain > refused`")
			assert.NoFileExists(t, filepath.Join(dir, "refused"))
			loaded, err := e.LoadSession(t.Context(), acpsdk.LoadSessionRequest{SessionId: session, Cwd: dir, McpServers: []acpsdk.McpServer{}})
			require.NoError(t, err)
			assert.Len(t, loaded.Modes.AvailableModes, 3)
			require.Eventually(t, func() bool {
				e.mu.Lock()
				defer e.mu.Unlock()
				return e.prompts == "run `echo hero > made` and say `all done`run `echo villain > refused`"
			}, agentStarts, tick, "the SDK handles updates concurrently")
			_, err = e.Prompt(t.Context(), acpsdk.PromptRequest{SessionId: "none", Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock("hello")}})
			require.ErrorContains(t, err, "no such session")
		})
	}
}

func onDisk(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(b)
}

func TestAgentUsesUnsavedChangesOfAnEditor(t *testing.T) {
	t.Parallel()
	usesUnsavedChanges(t, "--demo")
}

func usesUnsavedChangesOfAttached(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	attach := []string{"--attach", p.URL}
	e, session, file := usesUnsavedChanges(t, attach...)
	e.leave()
	other := runACP(t, acpProcess(t, attach...))
	_, err := other.ResumeSession(t.Context(), acpsdk.ResumeSessionRequest{SessionId: session, Cwd: filepath.Dir(file), McpServers: []acpsdk.McpServer{}})
	require.NoError(t, err)
	other.send(session, "edit `a.txt` `one` `ONE`")
	assert.Equal(t, "zero\nONE\nTWO\n", onDisk(t, file), "without the editor, the file on disk is used")
	assert.Equal(t, "zero\none\nTWO\n", e.buffer(file))
}

// usesUnsavedChanges checks that the agent behind `portal acp` with arguments reads and edits a file that an editor has changed.
func usesUnsavedChanges(t *testing.T, args ...string) (e *acpEditor, session acpsdk.SessionId, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "a.txt")
	require.NoError(t, os.WriteFile(file, []byte("one\ntwo\n"), 0o600))
	e = runACPWith(t, acpProcess(t, args...), map[string]string{file: "zero\none\ntwo\n"})
	session = e.open(dir)
	e.send(session, "read `a.txt`")
	assert.Contains(t, e.said(), "zero\none\ntwo")
	e.answer = "reject_once"
	e.send(session, "edit `a.txt` `two` `TWO`")
	assert.Equal(t, "one\ntwo\n", onDisk(t, file))
	assert.Equal(t, "zero\none\ntwo\n", e.buffer(file))
	e.answer = "allow_once"
	e.send(session, "edit `a.txt` `two` `TWO`")
	assert.Equal(t, "zero\none\nTWO\n", onDisk(t, file))
	assert.Equal(t, "zero\none\nTWO\n", e.buffer(file))
	assert.Positive(t, e.checker.Checked["fs/write_text_file"])
	return e, session, file
}

func TestEditorWithTheOfficialSDKUsesEveryMethod(t *testing.T) {
	t.Parallel()
	dir, checker := t.TempDir(), acptest.New(t)
	portal := acpProcess(t, "--demo")
	toPortal, err := portal.StdinPipe()
	require.NoError(t, err)
	fromPortal, err := portal.StdoutPipe()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*soon)
	defer cancel()
	editor := exec.CommandContext(ctx, "node", "testdata/acp.mjs", acptest.SDK(t), dir)
	var report bytes.Buffer
	editor.Stderr = &report
	toEditor, err := editor.StdinPipe()
	require.NoError(t, err)
	fromEditor, err := editor.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, portal.Start())
	require.NoError(t, editor.Start())
	var copies sync.WaitGroup
	copies.Go(func() { forward(checker, acptest.Client, fromEditor, toPortal) })
	copies.Go(func() { forward(checker, acptest.Agent, fromPortal, toEditor) })
	copies.Wait()
	require.NoError(t, editor.Wait(), report.String())
	require.NoError(t, portal.Wait(), portal.Stderr)
	checker.Finish(t)

	var seen struct {
		Load     bool
		Modes    int
		Options  []string
		Stops    []string
		Said     string
		Replayed struct{ Text, Prompts string }
		Asked    []string
		Kinds    []string
		Listed   int
	}
	require.NoError(t, json.Unmarshal(report.Bytes(), &seen), report.String())
	assert.True(t, seen.Load)
	assert.Equal(t, 3, seen.Modes)
	assert.Equal(t, []string{"mode", "model"}, seen.Options)
	assert.Equal(t, []string{"end_turn", "cancelled"}, seen.Stops)
	assert.Contains(t, seen.Said, "all done")
	assert.Equal(t, seen.Said, seen.Replayed.Text, "loading shows what was seen live")
	assert.Equal(t, "run `touch made`, ask `Which colour?` and say `all done`wait 10 min", seen.Replayed.Prompts)
	assert.Equal(t, []string{"Run touch made", "Which colour?"}, seen.Asked)
	assert.Subset(t, seen.Kinds, []string{"agent_message_chunk", "tool_call", "tool_call_update", "available_commands_update", "usage_update"})
	assert.Equal(t, 1, seen.Listed)
	assert.FileExists(t, filepath.Join(dir, "made"))
	t.Logf("messages by method: %v", checker.Checked)
}

func editorUsesSession(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	id := p.StartSession(t.TempDir(), "permissions=ask")
	e := runACP(t, acpProcess(t, "--attach", p.URL))
	session := acpsdk.SessionId(id)
	_, err := e.LoadSession(t.Context(), acpsdk.LoadSessionRequest{SessionId: session, Cwd: "/", McpServers: []acpsdk.McpServer{}})
	require.NoError(t, err)
	p.Query(id, "run `touch made` and say `from elsewhere`")
	require.Eventually(t, func() bool { return bytes.Contains([]byte(e.said()), []byte("from elsewhere")) }, agentStarts, tick, "the editor answers the question")
	assert.Equal(t, []string{"Run touch made"}, e.asked)
}

func TestACPIsGuarded(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--token", "secret"}})
	address := "ws" + p.URL[len("http"):] + "/acp"
	for name, header := range map[string][]string{"without a token": nil, "of another page": {"Origin", "https://evil.example", "Authorization", "Bearer secret"}} {
		h := map[string][]string{}
		for i := 0; i+1 < len(header); i += 2 {
			h[header[i]] = []string{header[i+1]}
		}
		_, answer, err := websocket.DefaultDialer.DialContext(t.Context(), address, h)
		require.Error(t, err, name)
		require.NotNil(t, answer, name)
		_ = answer.Body.Close()
		assert.GreaterOrEqual(t, answer.StatusCode, 400, name)
	}
	conn, answer, err := websocket.DefaultDialer.DialContext(t.Context(), address, map[string][]string{"Authorization": {"Bearer secret"}})
	require.NoError(t, err)
	defer conn.Close()
	_ = answer.Body.Close()
	assert.NotEmpty(t, answer.Header.Get("Acp-Connection-Id"))
}

func TestEndOfAnEditorEndsItsPortal(t *testing.T) {
	t.Parallel()
	e := runACP(t, acpProcess(t, "--demo"))
	session := e.open(t.TempDir())
	go func() {
		_, _ = e.Prompt(t.Context(), acpsdk.PromptRequest{SessionId: session, Prompt: []acpsdk.ContentBlock{acpsdk.TextBlock("say `working` and wait 10 min")}})
	}()
	require.Eventually(t, func() bool { return e.said() == "working" }, agentStarts, tick)
}
