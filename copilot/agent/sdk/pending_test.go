package sdk_test

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// killable is a conversation whose CLI is killed and restarted.
type killable struct {
	*talk
	driver *sdk.Driver
	home   string
	agent  *sdk.Agent
	asked  map[string]event.Question // by their calls; the last one of each
}

// callAll makes the model make concurrent calls and waits for a number of questions.
func callAll(t *testing.T, questions int, calls ...call) *killable {
	t.Helper()
	s := httptest.NewServer(several("k", calls...))
	t.Cleanup(s.Close)
	o := options(t)
	o.Demo = func() (sdk.Provider, error) {
		return sdk.Provider{Name: "d", Type: "openai", BaseURL: s.URL + "/v1", APIKey: "k", Models: []string{demo.ModelID}}, nil
	}
	home := t.TempDir()
	o.Env = append(o.Env, "COPILOT_HOME="+home)
	m := &killable{driver: sdk.New(o), home: home, asked: map[string]event.Question{}}
	m.agent = launch(t, m.driver)
	m.talk = open(t, m.agent, func(o *agent.Opening) { o.Tools = []event.Tool{{Name: "ide.open", Description: "Opens a file"}} })
	m.send("call all")
	m.ask(questions)
	return m
}

func (m *killable) ask(questions int) {
	m.t.Helper()
	for range questions {
		q, _ := until[event.QuestionAsked](m.talk)
		m.asked[q.Question.Call] = q.Question
	}
}

// die kills the CLI after it has saved its questions, and resumes the conversation in another process with pending
// questions.
func (m *killable) die(pending ...string) {
	m.t.Helper()
	require.Eventually(m.t, m.saved, soon, 10*time.Millisecond)

	m.dieNow(pending...)
	require.Empty(m.t, all[event.SessionError](m.got()), "the conversation was saved")
}

func (m *killable) dieNow(pending ...string) {
	m.t.Helper()
	require.NoError(m.t, syscall.Kill(m.agent.PID(), syscall.SIGKILL))
	<-m.agent.Done()
	m.agent = launch(m.t, m.driver)
	opening := m.opening
	opening.Resume = true
	for _, call := range pending {
		opening.Pending = append(opening.Pending, m.asked[call])
	}
	m.talk = open(m.t, m.agent, func(o *agent.Opening) { *o = opening })
}

// saved reports whether the CLI has saved its questions, except those that it never keeps.
func (m *killable) saved() bool {
	b, err := os.ReadFile(filepath.Join(m.home, "session-state", m.opening.Session, "events.jsonl"))
	for _, q := range m.asked {
		if q.Kind != event.AskInput && !bytes.Contains(b, []byte(q.ID)) {
			return false
		}
	}
	return err == nil
}

// allow answers the question about a call.
func (m *killable) allow(call string) {
	m.t.Helper()
	m.answer(m.asked[call], event.Answer{Approved: true, Text: call + " is open"})
}

// rest returns the remaining events of the prompt.
func (m *killable) rest() []event.Body {
	m.t.Helper()
	idle, rest := until[event.Idle](m.talk)
	assert.False(m.t, idle.Aborted)
	assert.Empty(m.t, all[event.ToolStarted](rest), "the calls started before")
	assert.Equal(m.t, "on we go", said(m.run("say `on we go`")))
	return rest
}

func TestSeveralPendingQuestionsContinueAfterDeath(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	t.Cleanup(func() { // after the concurrent subtests
		ran, err := os.ReadFile(file)
		assert.NoError(t, err)
		assert.Equal(t, "ran\n", string(ran))
	})
	open := call{"ide_open", `{}`}
	for name, tc := range map[string]struct {
		do   func(t *testing.T) *killable
		want []string // parts of the final answer of the model, in order
	}{
		"commands, in reverse order": {func(t *testing.T) *killable {
			t.Helper()
			m := callAll(t, 2, shell("echo first"), shell("echo second"))
			m.die("call-0", "call-1")
			m.allow("call-1")
			m.allow("call-0")
			return m
		}, []string{"first", "second"}},
		"calls of tools": {func(t *testing.T) *killable {
			t.Helper()
			m := callAll(t, 2, open, open)
			m.allow("call-0")
			m.allow("call-1")
			m.ask(2)
			m.die("call-0", "call-1")
			m.allow("call-0")
			m.allow("call-1")
			return m
		}, []string{"call-0 is open", "call-1 is open"}},
		"a client tool and a command, one of them refused": {func(t *testing.T) *killable {
			t.Helper()
			m := callAll(t, 2, open, shell("echo second"))
			m.die("call-0", "call-1")
			m.answer(m.asked["call-1"], event.Answer{Reason: "not now"})
			m.allow("call-0")
			m.ask(1)
			m.allow("call-0")
			return m
		}, []string{"call-0 is open", "not now"}},
		"a command beside a running one, which does not run again": {func(t *testing.T) *killable {
			t.Helper()
			m := callAll(t, 2, shell("echo ran >> "+file+"; sleep 60"), shell("echo second"))
			m.allow("call-0")
			require.Eventually(t, func() bool { ran, _ := os.ReadFile(file); return len(ran) > 0 }, soon, 10*time.Millisecond)
			m.die("call-1")
			m.allow("call-1")
			return m
		}, []string{"interrupted", "second"}},
		"a command beside a question to the user, which ends": {func(t *testing.T) *killable {
			t.Helper()
			m := callAll(t, 2, call{"ask_user", `{"question":"Which?"}`}, shell("echo second"))
			m.die("call-1")
			m.allow("call-1")
			return m
		}, []string{"interrupted", "second"}},
		"a command beside an unknown one, which is refused": {func(t *testing.T) *killable {
			t.Helper()
			m := callAll(t, 2, shell("echo first"), shell("echo second"))
			m.die("call-1")
			m.allow("call-1")
			return m
		}, []string{"It was interrupted.", "second"}},
		"a command beside an unknown tool call, which fails": {func(t *testing.T) *killable {
			t.Helper()
			m := callAll(t, 2, open, shell("echo second"))
			m.allow("call-0")
			m.ask(1)
			m.die("call-1")
			m.allow("call-1")
			return m
		}, []string{"It was interrupted.", "second"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rest := tc.do(t).rest()
			text := said(rest)
			for _, part := range tc.want {
				_, after, found := strings.Cut(text, part)
				require.True(t, found, "%s in %s", part, show(rest))
				text = after
			}
		})
	}
}

func TestUnknownQuestionsEndAfterDeath(t *testing.T) {
	t.Parallel()
	helper := call{"task", `{"agent_type":"general-purpose","name":"helper","description":"x","mode":"sync","prompt":"run ` + "`echo helped`" + `"}`}
	t.Run("a question of a sub-agent", func(t *testing.T) {
		t.Parallel()
		m := callAll(t, 1, helper)
		var call string
		for call = range m.asked { //nolint:revive // there is one
		}
		m.die(call)
		m.over(call)
	})
	t.Run("a question asked just before", func(t *testing.T) {
		t.Parallel()
		m := callAll(t, 1, shell("echo first"))
		m.dieNow("call-0")
		if len(all[event.SessionError](m.got())) > 0 { // otherwise it was saved in time
			m.over("call-0")
			return
		}
		m.allow("call-0")
		until[event.Idle](m.talk)
	})
	t.Run("a question of a sub-agent beside a continuing command", func(t *testing.T) {
		t.Parallel()
		m := callAll(t, 2, helper, shell("echo second"))
		var theirs string
		for call := range m.asked {
			if call != "call-1" {
				theirs = call
			}
		}
		m.die(theirs, "call-1")
		over, _ := until[event.QuestionClosed](m.talk)
		assert.Equal(t, m.asked[theirs].ID, over.ID)
		m.allow(theirs)
		m.allow("call-1")
		assert.Contains(t, said(m.rest()), "second")
	})
}

// over checks that a question and its prompt have ended.
func (m *killable) over(call string) {
	m.t.Helper()
	idle, passed := until[event.Idle](m.talk)
	assert.True(m.t, idle.Aborted)
	assert.Equal(m.t, []event.QuestionClosed{{ID: m.asked[call].ID, Ending: event.Withdrawn}}, all[event.QuestionClosed](passed))
	m.allow(call)
	assert.Equal(m.t, "on we go", said(m.run("say `on we go`")))
}

func TestPendingQuestionIsNotRepeated(t *testing.T) {
	permission := event.Question{ID: "old", Kind: event.AskPermission, Call: "call-0", Names: []string{permission.Exec}}
	var told []event.Body
	asks := func(id string) rpc.SessionEvent {
		return rpc.SessionEvent{Data: &rpc.PermissionRequestedData{
			RequestID: id, PermissionRequest: &rpc.PermissionRequestShell{ToolCallID: vendor.String("call-0"), FullCommandText: "ls"},
		}}
	}
	over := func(id string) rpc.SessionEvent {
		return rpc.SessionEvent{Data: &rpc.PermissionCompletedData{RequestID: id}}
	}
	for name, tc := range map[string]struct {
		events []rpc.SessionEvent
		theirs string
	}{
		"under its id":      {[]rpc.SessionEvent{asks("old"), over("old")}, "old"},
		"under another one": {[]rpc.SessionEvent{asks("new"), over("new")}, "new"},
		"by its call": {[]rpc.SessionEvent{
			{Data: &rpc.ToolExecutionStartData{ToolCallID: "call-0", ToolName: "bash"}}, over("old"),
		}, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			told = nil
			m := sdk.NewPending(func(_ string, b event.Body) { told = append(told, b) }, permission)
			for _, e := range tc.events {
				m.Event(e)
			}
			assert.Equal(t, tc.theirs, m.VendorID("old"))
			assert.Equal(t, []event.Body{event.QuestionClosed{ID: "old", Ending: event.Withdrawn}}, told)
			m.Event(asks("later"))
			assert.Len(t, all[event.QuestionAsked](told), 1, "the other question is reported")
			m.Event(rpc.SessionEvent{Data: &rpc.AssistantIdleData{}})
			assert.Equal(t, event.Idle{}, told[len(told)-1], "the prompt ends")
		})
	}
}

// A scripted CLI stands for one whose state differs from its record.
func TestForgottenQuestionDoesNotBlockPrompt(t *testing.T) {
	t.Parallel()
	question := event.Question{ID: "q", Kind: event.AskPermission, Call: "call-0"}
	asked := `{"events":[{"id":"1","type":"permission.requested","timestamp":"2026-01-01T00:00:00Z",` +
		`"data":{"requestId":"q","permissionRequest":{"kind":"shell","toolCallId":"call-0","fullCommandText":"ls"}}}],"cursor":"","cursorStatus":"ok","hasMore":false}`
	aborted := []event.Body{
		event.QuestionClosed{ID: "q", Ending: event.Withdrawn}, event.Idle{Aborted: true},
	}
	for name, tc := range map[string]struct {
		log, working string
		opened, told []event.Body // at the opening, and after the answer
	}{
		"idle after the answer":    {asked, `{"processing":false}`, nil, aborted},
		"working after the answer": {asked, `{"processing":true}`, nil, nil},
		"nothing saved, and idle":  {`{"events":[],"cursor":"","cursorStatus":"ok"}`, `{"processing":false}`, aborted, aborted},
	} {
		t.Run(name, func(t *testing.T) {
			f := scriptedCLI{Version: sdk.MinVersion, Results: map[string]string{
				"session.resume":                                     `{"sessionId":"s"}`,
				"session.eventLog.read":                              tc.log,
				"session.metadata.isProcessing":                      tc.working,
				"session.permissions.handlePendingPermissionRequest": `{"success":false}`,
			}}
			c := open(t, launch(t, f.driver(t, nil)), func(o *agent.Opening) {
				o.Session, o.Resume, o.Pending = "s", true, []event.Question{question}
			})
			assert.Equal(t, tc.opened, c.got())
			c.answer(question, event.Answer{Approved: true})
			assert.Equal(t, tc.told, c.got())
		})
	}
}

func TestUnreconcilableConversationIsNotOpened(t *testing.T) {
	f := scriptedCLI{Version: sdk.MinVersion, Results: map[string]string{"session.resume": `{"sessionId":"s"}`, "session.detach": `{"success":true}`}}
	f.Asked = filepath.Join(t.TempDir(), "asked")
	_, err := launch(t, f.driver(t, nil)).Open(t.Context(), agent.Opening{
		Session: "s", Model: demo.ModelID, Directory: t.TempDir(), Resume: true,
		Pending: []event.Question{{ID: "q", Kind: event.AskPermission}},
	}, func(_ string, b event.Body) { t.Errorf("unexpected event: %+v", b) })
	require.ErrorContains(t, err, "Method not found")
	assert.Equal(t, 1, asked(t, f.Asked, "session.detach"), "the session is released")
}
