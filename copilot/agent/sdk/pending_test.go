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

// mortal is a conversation that asks questions when its CLI is killed, and goes on or ends after that.
type mortal struct {
	name      string
	questions int    // that the calls ask
	calls     []call // of the model, at once
	// before answers some questions, and returns the calls of those that are pending.
	before func(*killable) (pending []string)
	after  func(*killable)
}

// killable is a conversation whose CLI is killed and restarted.
type killable struct {
	*talk
	asked map[string]event.Question // by their calls; the last one of each
}

// callAll makes the model make the concurrent calls and waits for their questions.
func (m mortal) callAll(t *testing.T, a *sdk.Agent) *killable {
	t.Helper()
	k := &killable{asked: map[string]event.Question{}}
	k.talk = open(t, a, func(o *agent.Opening) {
		o.Model = m.provider() + "/" + demo.ModelID
		o.Tools = []event.Tool{{Name: "ide.open", Description: "Opens a file"}}
	})
	k.send("call all")
	k.ask(m.questions)
	return k
}

// provider returns the name of the source of the conversation's model.
func (m mortal) provider() string { return strings.NewReplacer(" ", "-", ",", "").Replace(m.name) }

func (m *killable) ask(questions int) {
	m.t.Helper()
	for range questions {
		q, _ := until[event.QuestionAsked](m.talk)
		m.asked[q.Question.Call] = q.Question
	}
}

// resume resumes the conversation in another process with pending questions.
func (m *killable) resume(t *testing.T, a *sdk.Agent, pending []string) {
	t.Helper()
	opening := m.opening
	opening.Resume = true
	for _, call := range pending {
		opening.Pending = append(opening.Pending, m.asked[call])
	}
	m.talk = open(t, a, func(o *agent.Opening) { *o = opening })
}

// saved reports whether the CLI has saved its questions in its home, except those that it never keeps.
func (m *killable) saved(home string) bool {
	b, err := os.ReadFile(filepath.Join(home, "session-state", m.opening.Session, "events.jsonl"))
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

// continues checks the remaining events of the prompt, and that the final answer of the model has parts in this order.
func (m *killable) continues(want ...string) {
	m.t.Helper()
	idle, rest := until[event.Idle](m.talk)
	assert.False(m.t, idle.Aborted)
	assert.Empty(m.t, all[event.ToolStarted](rest), "the calls started before")
	assert.Equal(m.t, "on we go", said(m.run("say `on we go`")))
	text := said(rest)
	for _, part := range want {
		_, after, found := strings.Cut(text, part)
		require.True(m.t, found, "%s in %s", part, show(rest))
		text = after
	}
}

// leaves returns a function that answers nothing.
func leaves(pending ...string) func(*killable) []string {
	return func(*killable) []string { return pending }
}

// The conversations share one CLI, which is killed once.
func TestPendingQuestionsContinueOrEndAfterDeath(t *testing.T) {
	t.Parallel()
	file, home := filepath.Join(t.TempDir(), "file"), t.TempDir()
	saved := append(continuing(t, file), ending()...)
	unsaved := askedJustBefore()
	o := options(t)
	o.Env = append(o.Env, "COPILOT_HOME="+home)
	for _, m := range append(saved, unsaved) {
		s := httptest.NewServer(several("k", m.calls...))
		t.Cleanup(s.Close)
		o.Providers = append(o.Providers,
			sdk.Provider{Name: m.provider(), Type: "openai", BaseURL: s.URL + "/v1", APIKey: "k", Models: []string{demo.ModelID}})
	}
	driver := sdk.New(o)
	first := launch(t, driver)
	asking, pending := map[string]*killable{}, map[string][]string{}
	for _, m := range saved {
		asking[m.name] = m.callAll(t, first)
		pending[m.name] = m.before(asking[m.name])
	}
	for name, k := range asking {
		require.Eventually(t, func() bool { return k.saved(home) }, late, 10*time.Millisecond, name)
	}
	asking[unsaved.name] = unsaved.callAll(t, first)
	require.NoError(t, syscall.Kill(first.PID(), syscall.SIGKILL))
	<-first.Done()

	second := launch(t, driver)
	for _, m := range saved {
		t.Run(m.name, func(t *testing.T) {
			k := asking[m.name]
			k.resume(t, second, pending[m.name])
			require.Empty(t, all[event.SessionError](k.got()), "the conversation was saved")
			m.after(k)
		})
	}
	t.Run(unsaved.name, func(t *testing.T) {
		asking[unsaved.name].resume(t, second, unsaved.before(asking[unsaved.name]))
		unsaved.after(asking[unsaved.name])
	})
	ran, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "ran\n", string(ran))
}

// continuing returns conversations that go on with their pending questions. One of them runs a command that writes to a file.
func continuing(t *testing.T, file string) []mortal {
	t.Helper()
	open := call{"ide_open", `{}`}
	return []mortal{
		{
			"commands, in reverse order", 2,
			[]call{shell("echo first"), shell("echo second")},
			leaves("call-0", "call-1"),
			func(m *killable) {
				m.allow("call-1")
				m.allow("call-0")
				m.continues("first", "second")
			},
		},
		{
			"calls of tools", 2,
			[]call{open, open},
			func(m *killable) []string {
				m.allow("call-0")
				m.allow("call-1")
				m.ask(2)
				return []string{"call-0", "call-1"}
			},
			func(m *killable) {
				m.allow("call-0")
				m.allow("call-1")
				m.continues("call-0 is open", "call-1 is open")
			},
		},
		{
			"a client tool and a command, one of them refused", 2,
			[]call{open, shell("echo second")},
			leaves("call-0", "call-1"),
			func(m *killable) {
				m.answer(m.asked["call-1"], event.Answer{Reason: "not now"})
				m.allow("call-0")
				m.ask(1)
				m.allow("call-0")
				m.continues("call-0 is open", "not now")
			},
		},
		{
			"a command beside a running one, which does not run again", 2,
			[]call{shell("echo ran >> " + file + "; sleep 60"), shell("echo second")},
			func(m *killable) []string {
				m.allow("call-0")
				require.Eventually(t, func() bool { ran, _ := os.ReadFile(file); return len(ran) > 0 }, late, 10*time.Millisecond)
				return []string{"call-1"}
			},
			continuesBesideInterrupted("interrupted"),
		},
		{
			"a command beside a question to the user, which ends", 2,
			[]call{{"ask_user", `{"question":"Which?"}`}, shell("echo second")},
			leaves("call-1"),
			continuesBesideInterrupted("interrupted"),
		},
		{
			"a command beside an unknown one, which is refused", 2,
			[]call{shell("echo first"), shell("echo second")},
			leaves("call-1"),
			continuesBesideInterrupted("It was interrupted."),
		},
		{
			"a command beside an unknown tool call, which fails", 2,
			[]call{open, shell("echo second")},
			func(m *killable) []string {
				m.allow("call-0")
				m.ask(1)
				return []string{"call-1"}
			},
			continuesBesideInterrupted("It was interrupted."),
		},
	}
}

// continuesBesideInterrupted allows the second call, and checks that the model learns of the interruption of the first.
func continuesBesideInterrupted(text string) func(*killable) {
	return func(m *killable) {
		m.t.Helper()
		m.allow("call-1")
		m.continues(text, "second")
	}
}

var helper = call{"task", `{"agent_type":"general-purpose","name":"helper","description":"x","mode":"sync","prompt":"run ` + "`echo helped`" + `"}`}

// theirs returns the call of the sub-agent.
func (m *killable) theirs() string {
	for call := range m.asked {
		if call != "call-1" {
			return call
		}
	}
	return ""
}

// ending returns conversations with a question that is unknown after the death.
func ending() []mortal {
	return []mortal{
		{
			"a question of a sub-agent", 1,
			[]call{helper},
			func(m *killable) []string { return []string{m.theirs()} },
			func(m *killable) { m.over(m.theirs()) },
		},
		{
			"a question of a sub-agent beside a continuing command", 2,
			[]call{helper, shell("echo second")},
			func(m *killable) []string { return []string{m.theirs(), "call-1"} },
			func(m *killable) {
				theirs := m.theirs()
				over, _ := until[event.QuestionClosed](m.talk)
				assert.Equal(m.t, m.asked[theirs].ID, over.ID)
				m.allow(theirs)
				m.allow("call-1")
				m.continues("second")
			},
		},
	}
}

// askedJustBefore returns a conversation that may not have been saved.
func askedJustBefore() mortal {
	return mortal{
		"a question asked just before", 1,
		[]call{shell("echo first")},
		leaves("call-0"),
		func(m *killable) {
			if len(all[event.SessionError](m.got())) > 0 { // otherwise it was saved in time
				m.over("call-0")
				return
			}
			m.allow("call-0")
			until[event.Idle](m.talk)
		},
	}
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
