package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/jobs/operation"
)

// TestAgentActionsAreReported checks the messages about what the agent does in a free prompt.
func TestAgentActionsAreReported(t *testing.T) {
	type turn = *fake.Turn
	call := func(t turn, tool, arguments string, end event.ToolEnded) {
		end.ID = t.ID("call")
		t.Emit(event.ToolStarted{ID: end.ID, Name: tool, Arguments: []byte(arguments)}, end)
	}
	done := event.ToolEnded{Result: &event.ToolResult{Content: "a result that is not reported"}}
	for name, test := range map[string]struct {
		script func(turn)
		want   []string
	}{
		"thoughts are sent line by line": {
			func(t turn) { t.Think("First this.\n\nThen that.") },
			[]string{"thinking: First this.", "thinking: Then that."},
		},
		"including code in thoughts": {
			func(t turn) { t.Think("```\na\n```") },
			[]string{"thinking: ```", "thinking: a", "thinking: ```"},
		},
		"answers are sent line by line": {
			func(t turn) { t.Say("One.\n\n- two\n  - three  \nfour") },
			[]string{"execution: One.", "execution: - two", "execution:   - three  ", "execution: four"},
		},
		"code and tables are sent as a whole": {
			func(t turn) { t.Say("Look:\n```go\na\n\nb\n```\n| a | b |\n|---|---|\n| 1 | 2 |\nend") },
			[]string{"execution: Look:", "execution: ```go\na\n\nb\n```", "execution: | a | b |\n|---|---|\n| 1 | 2 |", "execution: end"},
		},
		"code without an end ends with the text": {
			func(t turn) { t.Say("~~~\na\n```\nb") },
			[]string{"execution: ~~~\na\n```\nb"},
		},
		"texts that were not streamed are sent": {
			func(t turn) {
				t.Emit(event.ReasoningEnded{ID: "r", Text: "Hm."}, event.MessageEnded{ID: "m", Text: "a\nb"})
			},
			[]string{"thinking: Hm.", "execution: a", "execution: b"},
		},
		"an interrupted text is sent as far as it came": {
			func(t turn) {
				t.Emit(event.MessageDelta{ID: "m", Text: "All is\nwe"})
				t.Wait(time.Second)
				t.Emit(event.MessageEnded{ID: "m"})
				t.Say("Anew.")
			},
			[]string{"execution: All is", "execution: we", "execution: Anew."},
		},
		"so is an unfinished text": {
			func(t turn) { t.Emit(event.MessageDelta{ID: "m", Text: "All is\nwe"}) },
			[]string{"execution: All is", "execution: we"},
		},
		"deltas of two texts are not mixed": {
			func(t turn) {
				t.Emit(event.ReasoningDelta{ID: "x", Text: "think"}, event.MessageDelta{ID: "x", Text: "say"},
					event.ReasoningEnded{ID: "x", Text: "thinking"}, event.MessageEnded{ID: "x", Text: "saying"})
			},
			[]string{"thinking: think", "thinking: ing", "execution: saying"},
		},
		"commands are shown as code": {
			func(t turn) {
				t.Call("bash", `{"command": "go test ./..."}`, "ok")
				t.Call("bash", `{"command": "echo \"`+"`x`"+`\"\nls"}`, "")
				t.Call("bash", `{}`, "")
			},
			[]string{"execution: Ran `go test ./...`", "execution: Ran ``echo \"`x`\" ls``", "execution: Ran a command"},
		},
		"consecutive reads share a message": {
			func(t turn) {
				t.Call("view", `{"path": "a"}`, "")
				t.Call("view", `{"path": "b"}`, "")
				t.Say("Now c.")
				t.Call("read_file", `{"path": "c"}`, "")
			},
			[]string{"execution: Read 2 files", "execution: Now c.", "execution: Read `c`"},
		},
		"but not those of several turns": {
			func(t turn) {
				t.Answer(func() { t.Call("view", `{"path": "a"}`, "") })
				t.Answer(func() { t.Call("view", `{"path": "b"}`, "") })
			},
			[]string{"execution: Read `a`", "execution: Read `b`"},
		},
		"unknown tools are shown by name": {
			func(t turn) { t.Call("mcp-thing", `{"x": 1}`, "") },
			[]string{"execution: Called `mcp-thing`"},
		},
		"failed tools are errors": {
			func(t turn) {
				call(t, "edit", `{"path": "a.go"}`, event.ToolEnded{Error: &event.ToolError{Text: "no such file\n"}})
				call(t, "task", `{}`, event.ToolEnded{Error: &event.ToolError{}})
				call(t, "create", `{"path": "b"}`, done)
			},
			[]string{"error: Failed to edit `a.go`: no such file", "error: Failed to delegate a task: no reason given", "execution: Created `b`"},
		},
		"failures of the session are errors": {
			func(t turn) { t.Emit(event.CompactionEnded{Error: "no room"}); t.Say("On.") },
			[]string{"error: The conversation could not be compacted: no room", "execution: On."},
		},
		"a thought without a line break precedes the message that it led to": {
			func(t turn) {
				t.Emit(event.ReasoningDelta{ID: "r", Text: "One.\nSo I say it."}, event.MessageStarted{ID: "m"},
					event.MessageDelta{ID: "m", Text: "It."}, event.MessageEnded{ID: "m", Text: "It."},
					event.ReasoningEnded{ID: "r", Text: "One.\nSo I say it."})
			},
			[]string{"thinking: One.", "thinking: So I say it.", "execution: It."},
		},
		"a thought without a line break precedes the tool that it led to": {
			func(t turn) {
				t.Emit(event.ReasoningDelta{ID: "r", Text: "I run it"})
				t.Call("bash", `{"command": "make"}`, "ok")
				t.Emit(event.ReasoningEnded{ID: "r", Text: "I run it."})
			},
			[]string{"thinking: I run it", "execution: Ran `make`", "thinking: ."},
		},
		"a thought without a line break precedes the question that it led to": {
			func(t turn) {
				t.Emit(event.ReasoningDelta{ID: "r", Text: "I ask"}, event.CompactionEnded{Before: 2, After: 1}, event.ReasoningEnded{ID: "r", Text: "I ask"})
			},
			[]string{"thinking: I ask", "execution: Compacted the conversation from 2 to 1 tokens"},
		},
		"the thought of one agent is not split by another agent": {
			func(t turn) {
				t.Emit(event.ReasoningDelta{ID: "r", Text: "I am"})
				t.EmitAs("s", event.ToolStarted{ID: "c", Name: "ls"}, event.MessageDelta{ID: "m", Text: "Here"}, event.MessageEnded{ID: "m", Text: "Here."})
				t.Emit(event.ReasoningDelta{ID: "r", Text: " thinking."}, event.ReasoningEnded{ID: "r", Text: "I am thinking."})
			},
			[]string{"thinking: Here.", "thinking: I am thinking."},
		},
		"texts of sub-agents are thoughts": {
			func(t turn) {
				t.Emit(event.SubagentStarted{ID: "s", Name: "explore", Title: "Explorer"})
				t.EmitAs("s", event.MessageEnded{ID: "m", Text: "Found it."})
				t.Emit(event.SubagentEnded{ID: "s", Outcome: event.Completed, Duration: 2 * time.Second, ToolCalls: 3})
				t.Emit(event.SubagentStarted{ID: "u", Name: "task"}, event.SubagentEnded{ID: "u", Outcome: event.Failed, Error: "lost"})
			},
			[]string{
				"execution: The sub-agent Explorer started", "thinking: Found it.", "execution: The sub-agent Explorer finished (2s, 3 tool calls)",
				"execution: The sub-agent task started", "error: The sub-agent task failed: lost",
			},
		},
		"to-dos are sent when they change": {
			func(t turn) {
				todos := []event.Todo{{ID: "1", Title: "Build"}, {ID: "2", Title: "Test"}}
				t.Emit(event.PlanChanged{Todos: todos}, event.PlanChanged{Todos: []event.Todo{{Title: "Build", State: event.TodoCompleted}, todos[1]}}, event.PlanChanged{})
			},
			[]string{"execution: To do:\n- Build\n- Test"},
		},
		"control sequences and credentials are removed": {
			func(t turn) {
				t.Say("\x1b[31mred\x1b[0m\u202e\a and ghp_" + strings.Repeat("a1B2c3D4e5", 4)[:36])
				call(t, "bash", `{}`, event.ToolEnded{Error: &event.ToolError{Text: "\x1b[2Jghp_" + strings.Repeat("a1B2c3D4e5", 4)[:36]}})
			},
			[]string{"execution: red and ghp_…masked", "error: Failed to run a command: ghp_…masked"},
		},
		"spaces are kept where a line is split": {
			func(t turn) { t.Say(strings.Repeat("x", 9_998) + "    y") },
			[]string{"execution: " + strings.Repeat("x", 9_998) + "  ", "execution:   y"},
		},
		"a long line takes several messages": {
			func(t turn) { t.Say(strings.Repeat("é", 7_000)) },
			[]string{"execution: " + strings.Repeat("é", 5_000), "execution: " + strings.Repeat("é", 2_000)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				p.agents.Script = test.script
				o, list := p.do(operation.Request{Type: operation.Prompt, Prompt: "Do the secret specification."})
				assert.Equal(t, append(test.want, "complete: Prompt complete."), story(list))
				assert.Equal(t, operation.Completed, o.Info().Status)
			})
		})
	}
}

// A long-running tool is reported after a second and then every 10 s; the message at its end stays the same.
func TestLongRunningToolIsReported(t *testing.T) {
	type turn = *fake.Turn
	run := func(t turn, id, command string, d time.Duration) {
		t.Emit(event.ToolStarted{ID: id, Name: "bash", Arguments: []byte(`{"command": "` + command + `"}`)})
		t.Wait(d)
		t.Emit(event.ToolEnded{ID: id, Result: &event.ToolResult{}})
	}
	for name, test := range map[string]struct {
		script func(turn)
		want   []string
		at     []time.Duration // since the start, of each message but the last
	}{
		"a quick tool is reported only at its end": {
			func(t turn) { run(t, "a", "ls", 900*time.Millisecond) },
			[]string{"execution: Ran `ls`"},
			[]time.Duration{900 * time.Millisecond},
		},
		"a slow tool is reported early and every 10 s": {
			func(t turn) { run(t, "a", "make", 25*time.Second) },
			[]string{"execution: Running `make`", "execution: Still running `make` (10s)", "execution: Still running `make` (20s)", "execution: Ran `make`"},
			[]time.Duration{time.Second, 10 * time.Second, 20 * time.Second, 25 * time.Second},
		},
		"even while it writes output": {
			func(t turn) {
				t.Emit(event.ToolStarted{ID: "a", Name: "bash", Arguments: []byte(`{"command": "make"}`)})
				for range 130 {
					t.Emit(event.ToolOutput{ID: "a", Text: "."})
					t.Wait(100 * time.Millisecond)
				}
				t.Emit(event.ToolEnded{ID: "a"})
			},
			[]string{"execution: Running `make`", "execution: Still running `make` (10s)", "execution: Ran `make`"},
			nil,
		},
		"two tools are reported separately": {
			func(t turn) {
				t.Emit(event.ToolStarted{ID: "a", Name: "bash", Arguments: []byte(`{"command": "a"}`)})
				t.Wait(5 * time.Second)
				t.Emit(event.ToolStarted{ID: "b", Name: "view", Arguments: []byte(`{"path": "b"}`)})
				t.Wait(6 * time.Second)
				t.Emit(event.ToolEnded{ID: "a"}, event.ToolEnded{ID: "b"})
			},
			[]string{"execution: Running `a`", "execution: Reading `b`", "execution: Still running `a` (10s)", "execution: Ran `a`", "execution: Read `b`"},
			[]time.Duration{time.Second, 6 * time.Second, 10 * time.Second, 11 * time.Second, 11 * time.Second},
		},
		"a tool that waits for an answer is not reported": {
			func(t turn) {
				t.Emit(event.ToolStarted{ID: "a", Name: "bash", Arguments: []byte(`{"command": "a"}`)})
				t.Emit(event.QuestionAsked{Question: event.Question{ID: "q", Kind: event.AskInput, Call: "a", Text: "Which?"}})
				t.Wait(15 * time.Second)
				t.Emit(event.QuestionClosed{ID: "q", Kind: event.AskInput})
				t.Wait(2 * time.Second)
				t.Emit(event.ToolEnded{ID: "a"})
			},
			[]string{"execution: Waiting for an answer: Which?", "execution: Answered", "execution: Running `a`", "execution: Ran `a`"},
			[]time.Duration{0, 15 * time.Second, 16 * time.Second, 17 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				p.agents.Script = test.script
				began := time.Now()
				_, list := p.do(operation.Request{Type: operation.Prompt, Prompt: "x"})
				assert.Equal(t, append(test.want, "complete: Prompt complete."), story(list))
				require.GreaterOrEqual(t, len(list), len(test.at))
				for i, at := range test.at {
					assert.Equal(t, at, list[i].Time.Sub(began.UTC().Truncate(time.Millisecond)), list[i].Content)
				}
			})
		})
	}
}

// Reports of running tools do not count as activity, and do not use up the messages of an operation.
func TestHangingToolDoesNotKeepOperationAlive(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			t.Emit(event.ToolStarted{ID: "a", Name: "bash", Arguments: []byte(`{"command": "a"}`)})
			t.WaitForAbort()
		}
		began := time.Now()
		o, list := p.do(operation.Request{Type: operation.Prompt, Prompt: "x"})
		assert.Equal(t, operation.Failed, o.Info().Status)
		assert.Equal(t, "error: The agent was silent for 30 minutes; the operation was stopped.", story(list)[len(list)-2])
		assert.InDelta(t, 30*time.Minute, time.Since(began), float64(time.Minute))
		assert.Less(t, len(list), 200)
	})
}

func TestRunThatWaitsForSlotIsNotSilent(t *testing.T) {
	onMachine(t, func(m *machine) {
		m.limits.Runs = 1
		p := m.portal(nil, operation.Options{})
		defer p.stop()
		m.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		other, err := p.sessions.Start(context.Background(), copilot.Start{Directory: m.project})
		require.NoError(t, err)
		_, err = other.Prompt(event.Prompt{Text: "x"})
		require.NoError(t, err)
		wait(time.Second)
		m.agents.Script = func(t *fake.Turn) { t.Say("Done.") }
		o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		wait(time.Second)
		s, err := p.sessions.Session(context.Background(), o.Info().Session)
		require.NoError(t, err)
		_, err = s.Record().Append(event.Event{Time: time.Now(), Run: s.Info().Run, Body: event.Notice{Kind: "other"}})
		require.NoError(t, err)
		wait(2 * time.Hour)
		require.NoError(t, other.Cancel(""))
		assert.Equal(t, []string{
			"execution: This run waits for its turn: no more than 1 may work at once (limits.runs).", "execution: Done.", "complete: Prompt complete.",
		}, story(all(t, o)))
	})
}

func TestWaitingForPersonIsReported(t *testing.T) {
	long := "echo " + strings.Repeat("y", 300) + "; rm -rf ."
	onMachine(t, func(m *machine) {
		p := m.portal(nil, operation.Options{Policy: permission.Policy{permission.Exec: permission.Ask}})
		defer p.stop()
		m.agents.Script = func(t *fake.Turn) {
			t.Ask(event.Question{Names: []string{permission.Exec}, Title: "Run a command: make", Detail: "make"})
			t.Ask(event.Question{Names: []string{permission.Exec}, Title: "Run a command: " + long, Detail: long})
			t.AskAlways(event.Question{Kind: event.AskInput, Text: "Which?", Freeform: true})
			t.AskAlways(event.Question{Kind: event.AskForm, Text: "Your name", Source: "github", Form: &event.Form{}})
			t.AskAlways(event.Question{Kind: event.AskSignIn, Source: "github", URL: "https://example.com"})
			t.AskAlways(event.Question{Kind: event.AskPlan, Text: "# Plan"})
		}
		o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		s, err := p.sessions.Session(context.Background(), o.Info().Session)
		require.NoError(t, err)
		assert.Equal(t, operation.Origin, s.Info().Origin)
		for range 6 {
			wait(time.Hour) // people may take their time to answer
			answer(t, s)
		}
		assert.Equal(t, []string{
			"execution: Waiting for permission: Run a command: make",
			"execution: Allowed",
			"execution: Waiting for permission: " + plain.Line("Run a command: "+long, 200) + "\n\n" + long,
			"execution: Allowed",
			"execution: Waiting for an answer: Which?",
			"execution: Answered",
			"execution: Waiting for someone to fill in a form of github: Your name",
			"execution: Answered",
			"execution: Waiting for someone to sign in to github",
			"execution: Answered",
			"execution: Waiting for someone to approve the agent's plan",
			"execution: Allowed",
			"complete: Prompt complete.",
		}, story(all(t, o)))
	})
}

func TestFirstMessageOfLongQuestionHasItsID(t *testing.T) {
	onMachine(t, func(m *machine) {
		p := m.portal(nil, operation.Options{Policy: permission.Policy{permission.Exec: permission.Ask}})
		defer p.stop()
		m.agents.Script = func(t *fake.Turn) {
			t.Emit(event.ToolStarted{ID: "a", Name: "view", Arguments: []byte(`{"path": "b"}`)}, event.ToolEnded{ID: "a"})
			t.Ask(event.Question{Names: []string{permission.Exec}, Title: "Run a script", Detail: strings.Repeat("make\n", 4000)})
		}
		o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		s, err := p.sessions.Session(context.Background(), o.Info().Session)
		require.NoError(t, err)
		wait(time.Minute)
		answer(t, s)
		list := all(t, o)
		assert.Equal(t, "Read `b`", list[0].Content)
		assert.True(t, strings.HasPrefix(list[1].Content, "Waiting for permission: Run a script\n"), list[1].Content[:50])
		var asks []int
		for i, m := range list {
			if m.Request != "" {
				asks = append(asks, i)
			}
		}
		assert.Equal(t, []int{1}, asks)
	})
}

// answer answers the open question of a session.
func answer(t *testing.T, s *copilot.Session) {
	t.Helper()
	for _, q := range questions(t, s) {
		reply := event.Answer{Approved: true}
		if q.Kind == event.AskInput {
			reply = event.Answer{Text: "that"}
		}
		if err := s.Answer(q.ID, reply, "test"); !errors.Is(err, fault.ErrAlreadyAnswered) {
			assert.NoError(t, err)
		}
	}
}

func questions(t *testing.T, s *copilot.Session) (list []event.Question) {
	t.Helper()
	entries, err := s.Record().Next(context.Background(), 0, 0)
	assert.NoError(t, err)
	for _, e := range entries {
		if b, ok := e.Value.Body.(event.QuestionAsked); ok {
			list = append(list, b.Question)
		}
	}
	return list
}

func TestHeadingsOfPromptFileAreSubsections(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = reports("report_questions", oneQuestion, func(t *fake.Turn) {
			t.Say("Hello.\n## Reading\nIt is short.\n### Notes\nIndeed.\n## **Gaps:**\n- Speed\n## Else\nNothing.")
			t.Say("Now I ask.")
		})
		_, list := p.do(operation.Request{})
		assert.Equal(t, []string{
			"execution: Hello.", "execution (Reading): ## Reading", "execution (Reading): It is short.", "execution (Reading): ### Notes",
			"execution (Reading): Indeed.", "execution (Gaps): ## **Gaps:**", "execution (Gaps): - Speed", "execution: ## Else",
			"execution: Nothing.", "execution: Now I ask.",
		}, story(list[:10]))
	})
}
