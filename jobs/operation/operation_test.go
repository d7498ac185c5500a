package operation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/copilot-portal/portal/jobs/operation"
)

// sends returns the prompts that the agents received.
func (m *machine) sends() (prompts []string) {
	for _, c := range m.agents.Calls(fake.Send) {
		prompts = append(prompts, c.Prompt)
	}
	return prompts
}

func TestResultIsReportedByTool(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = reports("report_questions", oneQuestion)
		o, list := p.do(operation.Request{})
		assert.Equal(t, "execution (Questions): Generated 1 clarification question based on specification gaps.", story(list)[0])
		assert.Contains(t, story(list)[1], "execution (Questions): Q1: How fast?\n")
		assert.Equal(t, operation.Complete, list[len(list)-1].Type)
		var result struct {
			Questions []struct{ Question string }
			Document  string
		}
		info := o.Info()
		require.NoError(t, json.Unmarshal(info.Result, &result))
		assert.Equal(t, "How fast?", result.Questions[0].Question)
		assert.Contains(t, result.Document, "How fast?")
		assert.Equal(t, operation.Clarify, info.Type)
		assert.Equal(t, p.project, info.Directory)
		assert.Equal(t, "model-a", info.Model, "the model in use")
		assert.NotEmpty(t, info.Session)
		assert.NotContains(t, strings.Join(story(list), "\n"), "report_questions", "the tool is not shown")
		require.Len(t, p.sends(), 1)
		assert.Contains(t, p.sends()[0], "# The secret specification")
		assert.Empty(t, p.agents.Calls(fake.Open)[0].Opening.AskUser)
	})
}

func TestAgentMayAlwaysReport(t *testing.T) {
	onMachine(t, func(m *machine) {
		p := m.portal(nil, operation.Options{Policy: permission.Everywhere(permission.Deny)})
		defer p.stop()
		m.agents.Script = reports("report_plan", aPlan, func(t *fake.Turn) {
			t.Ask(event.Question{Names: []string{permission.Exec}, Title: "Run a command"})
		})
		o, _ := p.do(operation.Request{Type: operation.Plan})
		assert.Equal(m.t, operation.Completed, o.Info().Status)
	})
}

func TestInvalidReportsAreExplained(t *testing.T) {
	inMemory(t, func(p *portal) {
		var replies []string
		p.agents.Script = func(t *fake.Turn) {
			for _, arguments := range []string{`{"questions": 1}`, oneQuestion, noQuestions} {
				text, _ := t.UseTool("report_questions", arguments)
				replies = append(replies, text)
			}
		}
		o, list := p.do(operation.Request{})
		assert.Contains(t, replies[0], "questions")
		assert.Equal(t, "The result was accepted. Nothing more is to be done.", replies[1])
		assert.Equal(t, "The result was already accepted; nothing more is to be done.", replies[2])
		assert.Contains(t, string(o.Info().Result), "How fast?", "the first one counts")
		assert.Len(t, list, 3)
	})
}

func TestCredentialsInResultAreMasked(t *testing.T) {
	inMemory(t, func(p *portal) {
		token := "ghp_" + strings.Repeat("a1B2c3D4e5", 4)[:36]
		p.agents.Script = reports("report_questions", strings.ReplaceAll(oneQuestion, "How fast?", "Is "+token+" right?"))
		o, list := p.do(operation.Request{Persist: &operation.Persist{Path: "q.md"}})
		text, err := os.ReadFile(filepath.Join(p.project, "q.md"))
		require.NoError(t, err)
		assert.NotContains(t, string(o.Info().Result)+strings.Join(story(list), "")+string(text), token)
		assert.Contains(t, string(text), "ghp_…masked")
	})
}

func TestMissingResultIsRequestedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		second func(*fake.Turn)
		status operation.Status
		want   []string
	}{
		"and used if it arrives": {
			reports("report_plan", aPlan), operation.Completed,
			[]string{"execution: Well."},
		},
		"and the operation fails without it": {
			func(t *fake.Turn) { t.Say("No.") }, operation.Failed,
			[]string{"execution: Well.", "execution: No.", "error: The agent finished without a result.", "complete: Operation failed. No changes persisted."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				p.agents.Script = func(t *fake.Turn) {
					if len(t.Past) > 0 {
						test.second(t)
						return
					}
					t.Say("Well.")
				}
				o, list := p.do(operation.Request{Type: operation.Plan})
				assert.Equal(t, test.status, o.Info().Status)
				assert.Equal(t, test.want, story(list)[:len(test.want)])
				require.Len(t, p.sends(), 2)
				assert.Contains(t, p.sends()[1], "report_plan")
			})
		})
	}
}

// TestEveryEndIsReported checks the last messages of operations that do not succeed.
func TestEveryEndIsReported(t *testing.T) {
	type turn = *fake.Turn
	for name, test := range map[string]struct {
		request operation.Request
		before  func(context.Context, fake.Call) error
		script  func(turn)
		does    func(*portal, *operation.Operation)
		status  operation.Status
		want    []string
	}{
		"the CLI is killed": {
			script: func(t turn) { t.Say("Half of it\nand"); t.Kill() }, status: operation.Failed,
			want: []string{"execution: Half of it", "execution: and", "error: Copilot CLI process exited with error code 137: 'killed'", "complete: Operation failed. No changes persisted."},
		},
		"the CLI is killed in the middle of a line": {
			script: func(t turn) { t.Emit(event.MessageDelta{ID: "m", Text: "Half"}); t.Kill() }, status: operation.Failed,
			want: []string{"execution: Half", "error: Copilot CLI process exited with error code 137: 'killed'", "complete: Operation failed. No changes persisted."},
		},
		"the model breaks off in the middle of a line": {
			script: func(t turn) {
				t.Emit(event.MessageDelta{ID: "m", Text: "half"}, event.SessionError{Kind: fault.Internal, Text: "Broken off."})
			},
			status: operation.Failed,
			want:   []string{"execution: half", "error: Broken off.", "complete: Operation failed. No changes persisted."},
		},
		"the CLI does not start": {
			before: func(_ context.Context, c fake.Call) error {
				if c.Method == fake.Launch {
					return errors.New("not found; install it, with ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3")
				}
				return nil
			},
			status: operation.Failed,
			want:   []string{"error: the agent did not start: not found; install it, with ghp_…masked", "complete: Operation failed. No changes persisted."},
		},
		"the model fails": {
			script: func(t turn) {
				t.Emit(event.SessionError{Kind: fault.Unauthenticated, Text: "You are signed out.", Hint: "Run `copilot login`."})
			},
			status: operation.Failed,
			want:   []string{"error: You are signed out.\nRun `copilot login`.", "complete: Operation failed. No changes persisted."},
		},
		"the model fails and says something": {
			script: func(t turn) {
				t.Emit(event.SessionError{Kind: fault.Internal, Text: "Too many requests."})
				t.Say("Sorry.")
			},
			status: operation.Failed,
			want: []string{
				"error: Too many requests.", "execution: Sorry.", "complete: Operation failed. No changes persisted.",
			},
		},
		"the rest of a text follows the failure": {
			script: func(t turn) {
				t.Emit(event.MessageDelta{ID: "m", Text: "hal"}, event.SessionError{Kind: fault.Internal, Text: "Broken off."}, event.MessageDelta{ID: "m", Text: "f"})
			},
			status: operation.Failed,
			want:   []string{"execution: half", "error: Broken off.", "complete: Operation failed. No changes persisted."},
		},
		"the model fails and then hangs": {
			script: func(t turn) {
				t.Emit(event.SessionError{Kind: fault.Internal, Text: "Broken off."})
				t.Wait(5 * time.Second)
			},
			does: func(p *portal, o *operation.Operation) {
				wait(2 * time.Second)
				assert.Equal(p.t, []string{"error: Broken off."}, story(present(p.t, o, -1)), "reported meanwhile")
			},
			status: operation.Failed,
			want:   []string{"error: Broken off.", "complete: Operation failed. No changes persisted."},
		},
		"it is cancelled": {
			script: func(t turn) { t.Say("I begin."); t.WaitForAbort() },
			does: func(p *portal, o *operation.Operation) {
				wait(time.Second)
				require.NoError(p.t, o.Cancel(context.Background()))
				assert.Equal(p.t, operation.Cancelled, o.Info().Status, "ended when Cancel returns")
				assert.NoError(p.t, o.Cancel(context.Background()), "a second call does nothing")
			},
			status: operation.Cancelled,
			want:   []string{"execution: I begin.", "complete: Operation cancelled. No changes persisted."},
		},
		"it is cancelled at once": {
			script: func(t turn) { t.WaitForAbort() },
			does: func(p *portal, o *operation.Operation) {
				require.NoError(p.t, o.Cancel(context.Background()))
			},
			status: operation.Cancelled,
			want:   []string{"complete: Operation cancelled. No changes persisted."},
		},
		"it is cancelled and the agent ignores it": {
			script: func(t turn) { t.WaitIgnoringAbort(time.Hour) },
			does: func(p *portal, o *operation.Operation) {
				wait(time.Second)
				began := time.Now()
				require.NoError(p.t, o.Cancel(context.Background()))
				assert.LessOrEqual(p.t, time.Since(began), 11*time.Second)
			},
			status: operation.Cancelled,
			want:   []string{"complete: Operation cancelled. No changes persisted."},
		},
		"another client cancels the run": {
			script: func(t turn) { t.WaitForAbort() },
			does: func(p *portal, o *operation.Operation) {
				wait(time.Second)
				s, err := p.sessions.Session(context.Background(), o.Info().Session)
				require.NoError(p.t, err)
				assert.NoError(p.t, s.Cancel(""))
			},
			status: operation.Cancelled,
			want:   []string{"complete: Operation cancelled. No changes persisted."},
		},
		"another client closes the session": {
			script: func(t turn) { t.WaitForAbort() },
			does: func(p *portal, o *operation.Operation) {
				wait(time.Second)
				s, err := p.sessions.Session(context.Background(), o.Info().Session)
				require.NoError(p.t, err)
				assert.NoError(p.t, s.Close())
			},
			status: operation.Cancelled,
			want:   []string{"complete: Operation cancelled. No changes persisted."},
		},
		"the portal is stopped": {
			script: func(t turn) { t.Say("I begin."); t.WaitIgnoringAbort(time.Minute) },
			does: func(p *portal, _ *operation.Operation) {
				wait(time.Second)
				p.stop()
			},
			status: operation.Interrupted,
			want:   []string{"execution: I begin.", "error: The portal was stopped while the operation ran.", "complete: Operation interrupted."},
		},
		"the agent says nothing": {
			script: func(t turn) { t.WaitForAbort() }, status: operation.Failed,
			want: []string{"error: The agent was silent for 30 minutes; the operation was stopped.", "complete: Operation failed. No changes persisted."},
		},
		"the agent repeatedly reports invalid results": {
			script: func(t turn) {
				for {
					if _, ok := t.UseTool("report_questions", `[]`); !ok && !t.Wait(time.Second) {
						return
					}
				}
			},
			status: operation.Failed,
			want: []string{
				"error: The agent repeatedly reported invalid results.", "complete: Operation failed. No changes persisted.",
			},
		},
		"there are too many messages": {
			script: func(t turn) {
				for i := range 1200 {
					t.Say(fmt.Sprint(i))
				}
				t.WaitForAbort()
			},
			status: operation.Failed,
			want: []string{
				"execution: 997", "error: The operation has reached 1000 messages, the maximum; it was stopped.",
				"complete: Operation failed. No changes persisted.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				p.agents.Script, p.agents.Before = test.script, test.before
				o := p.start(test.request)
				if test.does != nil {
					test.does(p, o)
				}
				list := all(p.t, o)
				got := story(list)
				assert.Equal(t, test.want, got[max(0, len(got)-len(test.want)):])
				info := o.Info()
				assert.Equal(t, test.status, info.Status)
				if len(list) > 1 && list[len(list)-2].Type == operation.Error {
					assert.Equal(t, strings.Split(list[len(list)-2].Content, "\n")[0], info.Error)
				}
				errors := slices.DeleteFunc(list, func(m operation.Message) bool { return m.Type != operation.Error })
				if test.status == operation.Failed && name != "the agent repeatedly reports invalid results" {
					assert.Len(t, errors, 1, "a failure is reported once")
				}
			})
		})
	}
}

func TestEndFitsWithinMessageLimit(t *testing.T) {
	for said, want := range map[int]struct {
		status operation.Status
		count  int
	}{998: {operation.Completed, 999}, 999: {operation.Failed, 1000}} {
		inMemory(t, func(p *portal) {
			p.agents.Script = func(t *fake.Turn) {
				for range said {
					t.Say("x")
				}
			}
			o, list := p.do(operation.Request{Type: operation.Prompt, Prompt: "Say much."})
			assert.Equal(t, want.status, o.Info().Status, said)
			assert.Len(t, list, want.count)
		})
	}
}

func TestLongTextsDoNotEndOperation(t *testing.T) {
	for name, say := range map[string]func(*fake.Turn, string){
		"of answers": (*fake.Turn).Say, "of thoughts": (*fake.Turn).Think,
		"that are not streamed": func(t *fake.Turn, text string) { t.Emit(event.MessageEnded{ID: "m", Text: text}) },
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				var text strings.Builder
				for i := range 1500 {
					fmt.Fprintf(&text, "Line %d.\n", i)
				}
				p.agents.Script = func(t *fake.Turn) { say(t, text.String()); t.Say("## Done") }
				o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
				list := rest(p.t, o, -1)
				assert.Equal(t, operation.Completed, o.Info().Status)
				require.Len(t, list, 903, "lines, the rest in one message, and the end")
				var got strings.Builder
				for _, m := range list[:901] {
					got.WriteString(m.Content + "\n")
				}
				assert.Equal(t, text.String(), got.String())
			})
		})
	}
}

func TestOperationContinuesWithoutClients(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.Wait(10 * time.Minute); t.Say("Done.") }
		asking, leave := context.WithCancel(context.Background())
		o, err := p.host.Start(asking, operation.Request{Type: operation.Prompt, Prompt: "x"})
		require.NoError(p.t, err)
		leave()
		assert.Equal(t, []string{"execution: Done.", "complete: Prompt complete."}, story(all(p.t, o)))
	})
}

func TestPresentMessagesAreReadWithoutWaiting(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.Wait(time.Second); t.Say("One."); t.Wait(time.Minute); t.Say("Two.") }
		o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		assert.Empty(t, present(p.t, o, -1))
		assert.Equal(t, -1, o.Last())
		assert.False(t, o.Info().Status.Ended())
		wait(2 * time.Second)
		info := o.Info()
		assert.Equal(t, operation.Running, info.Status)
		assert.Equal(t, "One.", info.Note)
		assert.Equal(t, []string{"execution: One."}, story(present(p.t, o, -5)))
		assert.Empty(t, present(p.t, o, 0))
		assert.Empty(t, present(p.t, o, 77))
		before := o.Info().Progress
		wait(30 * time.Second)
		assert.Greater(t, o.Info().Progress, before)
		assert.Len(t, all(p.t, o), 3)
	})
}

func TestOneOperationOfTypeRunsPerFeature(t *testing.T) {
	for name, world := range map[string]func(*testing.T, func(*portal)){"in memory": inMemory, "stored": stored} {
		t.Run(name, func(t *testing.T) {
			world(t, func(p *portal) {
				p.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
				one := operation.Request{Type: operation.Clarify, Feature: "003-fast", Document: "x"}
				o := p.start(one)
				_, err := p.host.Start(context.Background(), one)
				assert.Equal(t, fault.Busy, fault.KindOf(err))
				other := p.start(operation.Request{Type: operation.Plan, Feature: "003-fast", Document: "x"})
				p.start(operation.Request{Type: operation.Clarify, Feature: "004-safe", Document: "x"})
				p.start(operation.Request{Type: operation.Clarify})
				p.start(operation.Request{Type: operation.Clarify})
				require.NoError(t, other.Cancel(context.Background()))
				require.NoError(t, o.Cancel(context.Background()))
				p.start(one)
			})
		})
	}
}

// A client that sees complete may start the next operation at once.
func TestNextOperationMayStartAfterComplete(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = reports("report_plan", aPlan)
		for range 50 {
			o := p.start(operation.Request{Type: operation.Plan, Feature: "003", Document: "x"})
			rest(p.t, o, -1)
		}
	})
}

func TestEstimateIsMeanOfLatestDurations(t *testing.T) {
	inMemory(t, func(p *portal) {
		assert.Equal(t, time.Minute, p.host.Estimate(operation.Plan))
		for _, took := range []time.Duration{10 * time.Second, 30 * time.Second} {
			p.agents.Script = reports("report_plan", aPlan, func(t *fake.Turn) { t.Wait(took) })
			p.do(operation.Request{Type: operation.Plan})
		}
		assert.Equal(t, 20*time.Second, p.host.Estimate(operation.Plan))
		assert.Equal(t, time.Minute, p.host.Estimate(operation.Clarify))
	})
}

func TestSessionIsClosedAfterOperation(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = fake.Echo
		o, _ := p.do(operation.Request{Type: operation.Prompt, Prompt: "x"})
		wait(time.Second)
		s, err := p.sessions.Session(context.Background(), o.Info().Session)
		require.NoError(t, err)
		assert.Equal(t, copilot.StateClosed, s.Info().State)
	})
}

func TestSessionIsClosedAfterOperationThatGaveUp(t *testing.T) {
	for name, script := range map[string]func(*fake.Turn){
		"an agent that stops when it is told to": func(t *fake.Turn) { t.WaitForAbort() },
		"an agent that does not":                 func(t *fake.Turn) { t.WaitIgnoringAbort(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(p *portal) {
				p.agents.Script = script
				o, _ := p.do(operation.Request{})
				wait(time.Minute)
				s, err := p.sessions.Session(context.Background(), o.Info().Session)
				require.NoError(t, err)
				assert.Equal(t, copilot.StateClosed, s.Info().State)
			})
		})
	}
}

func TestPortalThatStopsDoesNotWaitForRunOfOperationThatGaveUp(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) { t.WaitIgnoringAbort(time.Hour) }
		p.do(operation.Request{}) // the end of the test stops the portal
	})
}

func TestForeignRunsAreIgnored(t *testing.T) {
	inMemory(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			t.Wait(time.Minute)
			t.Say("Done: " + t.Prompt[:2])
		}
		o := p.start(operation.Request{Type: operation.Prompt, Prompt: "x"})
		wait(time.Second)
		s, err := p.sessions.Session(context.Background(), o.Info().Session)
		require.NoError(t, err)
		_, err = s.Prompt(event.Prompt{Text: "mine"})
		require.NoError(t, err)
		assert.Len(t, all(p.t, o), 2)
		wait(time.Second)
		assert.Equal(t, copilot.StateRunning, s.Info().State, "the other run continues")
		wait(2 * time.Minute)
		assert.Len(t, all(p.t, o), 2)
	})
}

func TestUnknownModelIsRejectedAtOnce(t *testing.T) {
	inMemory(t, func(p *portal) {
		_, err := p.host.Start(context.Background(), operation.Request{Type: operation.Prompt, Prompt: "x", Model: "<model-z>"})
		require.ErrorIs(t, err, fault.ErrModelNotFound)
		assert.Equal(t, "no such model; available: model-a, model-b", err.Error())
		list, err := p.host.List(context.Background(), 0)
		require.NoError(t, err)
		assert.Empty(t, list)
	})
}
