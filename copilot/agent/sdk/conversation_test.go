package sdk_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/testclock"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	a := launch(t, sdk.New(options(t)))
	for name, talk := range map[string]func(*testing.T, *sdk.Agent){
		"is compacted": sumsUp,
		"gives long answers completely and in order": givesLongAnswers,
		"runs commands only with permission":         asksForCommands,
		"asks for the target of a link":              seesThroughLinks,
		"leaves no question handlers behind":         leavesNoHandler,
		"runs no hooks of the directory":             runsNoHooksOfTheDirectory,
		"does not wait for background commands":      goesOnBesideCommands,
		"waits for background sub-agents":            waitsForSubAgents,
		"reports refusals of the CLI":                mayBeRefused,
		"starts anew without a prompt":               beginsAnew,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk(t, a)
		})
	}
}

func givesLongAnswers(t *testing.T, a *sdk.Agent) {
	t.Helper()
	c := open(t, a, nil)
	got := c.run("5,000 tokens")
	var text strings.Builder
	for _, d := range all[event.MessageDelta](got) {
		text.WriteString(d.Text)
	}
	words := strings.Fields(text.String())
	require.Len(t, words, 5000)
	for i, w := range words {
		require.Equal(t, fmt.Sprintf("w%d", i+1), w)
	}
}

func sumsUp(t *testing.T, a *sdk.Agent) {
	t.Helper()
	t.Run("completely", func(t *testing.T) {
		c := open(t, a, nil)
		c.run("say `x`")
		require.NoError(t, c.Compact(t.Context()))
		ended, _ := until[event.CompactionEnded](c)
		assert.Empty(t, ended.Error)
		assert.Contains(t, ended.Summary, "say `x`")
		assert.Equal(t, "y", said(c.run("say `y`")))
	})
	t.Run("or not, if it is empty", func(t *testing.T) {
		c := open(t, a, nil)
		require.ErrorIs(t, c.Compact(t.Context()), fault.ErrNothingToCompact)
		assert.Equal(t, "y", said(c.run("say `y`")))
	})
	t.Run("or not, if cancelled", func(t *testing.T) {
		c := open(t, a, nil)
		c.run("say `x`")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := testclock.Now()
		if err := c.Compact(ctx); err != nil { // nil: on a busy machine it may be done when the time is noticed
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		assert.Less(t, began.Elapsed(), soon)
		assert.Equal(t, "y", said(c.run("say `y`")))
	})
}

func asksForCommands(t *testing.T, a *sdk.Agent) {
	t.Helper()
	for name, tc := range map[string]struct {
		answer event.Answer
		output string
	}{
		"approved": {event.Answer{Approved: true}, "hello\n"},
		"refused":  {event.Answer{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, a, nil)
			c.send("run `echo hello > file; cat file`")
			asked, _ := until[event.QuestionAsked](c)
			assert.Equal(t, "echo hello > file; cat file", asked.Question.Detail)
			file := filepath.Join(c.opening.Directory, "file")
			assert.NoFileExists(t, file)
			c.answer(asked.Question, tc.answer)
			_, rest := until[event.Idle](c)
			output := ""
			for _, o := range all[event.ToolOutput](rest) {
				output += o.Text
			}
			assert.Equal(t, tc.output, output)
			_, err := os.Stat(file)
			assert.Equal(t, tc.answer.Approved, err == nil)
		})
	}
}

func seesThroughLinks(t *testing.T, a *sdk.Agent) {
	t.Helper()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(outside, []byte("s3cret"), 0o600))
	c := open(t, a, nil)
	require.NoError(t, os.Symlink(outside, filepath.Join(c.opening.Directory, "link")))
	c.send("read `link`")
	asked, _ := until[event.QuestionAsked](c)
	assert.Equal(t, []string{permission.Read}, asked.Question.Names)
	target, err := filepath.EvalSymlinks(outside)
	require.NoError(t, err)
	assert.Equal(t, target, asked.Question.Path)
	c.answer(asked.Question, event.Answer{})
	_, rest := until[event.Idle](c)
	assert.NotContains(t, show(rest), "s3cret")
}

// Whoever made the directory is not the user: its hooks would run commands without a question.
func runsNoHooksOfTheDirectory(t *testing.T, a *sdk.Agent) {
	t.Helper()
	made := filepath.Join(t.TempDir(), "made")
	c := open(t, a, func(o *agent.Opening) {
		hooks := filepath.Join(o.Directory, ".github", "hooks")
		require.NoError(t, os.MkdirAll(hooks, 0o700))
		run := `[{"type":"command","bash":"touch ` + made + `"}]`
		text := `{"version":1,"hooks":{"sessionStart":` + run + `,"userPromptSubmitted":` + run + `}}`
		require.NoError(t, os.WriteFile(filepath.Join(hooks, "x.json"), []byte(text), 0o600))
	})
	c.run("say `x`")
	assert.NoFileExists(t, made)
	require.NoError(t, c.Close(t.Context()))
	c = open(t, a, func(o *agent.Opening) { *o = c.opening; o.Resume = true })
	c.run("say `x`")
	assert.NoFileExists(t, made)
}

func leavesNoHandler(t *testing.T, a *sdk.Agent) {
	t.Helper()
	for name, do := range map[string]func(*talk){
		"after answers": func(c *talk) {
			for range 5 { // an answer can be faster than the SDK
				c.send("ask `Sure?`, then ask `Sure?`")
				for range 2 {
					asked, _ := until[event.QuestionAsked](c)
					c.answer(asked.Question, event.Answer{Text: "yes"})
				}
				until[event.Idle](c)
			}
		},
		"after an abort": func(c *talk) {
			c.send("ask `Which?`")
			until[event.QuestionAsked](c)
			c.abort()
		},
		"after Close": func(c *talk) {
			c.send("ask `Which?`")
			until[event.QuestionAsked](c)
			c.close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, a, nil)
			do(c)
			assert.Zero(t, sdk.Parked(c.Conversation))
		})
	}
}

func TestCommandsEnd(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	t.Run("by an abort", func(t *testing.T) { abortEndsCommands(t, a) })
	t.Run("by Close", func(t *testing.T) { closeEndsCommands(t, a) })
}

func abortEndsCommands(t *testing.T, a *sdk.Agent) {
	t.Helper()
	for name, begin := range map[string]func(*talk){
		"a command that the agent waits for": func(c *talk) { runForever(c) },
		"a background command and a stream": func(c *talk) {
			inBackground(c, "sleep 60")
			until[event.Idle](c)
			c.send("5,000 tokens in 20 s")
			until[event.MessageDelta](c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, a, nil)
			begin(c)
			took := c.abort()
			t.Logf("abort → idle: %v", took)
			assert.Less(t, took, soon)
			got := c.run("say `on we go`")
			assert.Equal(t, "on we go", said(got))
			assert.Equal(t, []event.Idle{{}}, all[event.Idle](got))
		})
	}
}

// inBackground makes the agent start a background command.
func inBackground(c *talk, command string) {
	c.t.Helper()
	c.send(fmt.Sprintf("call `bash` `{\"command\":\"%s; echo finished\",\"mode\":\"async\",\"description\":\"a pause\"}`", command))
	asked, _ := until[event.QuestionAsked](c)
	c.answer(asked.Question, event.Answer{Approved: true})
}

func goesOnBesideCommands(t *testing.T, a *sdk.Agent) {
	t.Helper()
	c := open(t, a, nil)
	inBackground(c, "sleep 60")
	begin := testclock.Now()
	until[event.Idle](c)
	assert.Less(t, begin.Elapsed(), 30*time.Second)
	assert.Equal(t, "hello", said(c.run("say `hello`")))
}

func TestBackgroundNewsDoNotEndPromptEarly(t *testing.T) {
	t.Parallel()
	// The next prompt is sent while the model notes the news.
	h, hold := demo.NewHandler("k"), make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	noting := make(chan struct{}, 1)
	s := httptest.NewServer(delayed(h, "has completed successfully", noting, hold))
	defer s.Close()
	defer release()
	o := options(t)
	o.Demo = func() (sdk.Provider, error) {
		return sdk.Provider{Name: "d", Type: "openai", BaseURL: s.URL + "/v1", APIKey: "k", Models: []string{demo.ModelID}}, nil
	}
	c := open(t, launch(t, sdk.New(o)), nil)
	finish := filepath.Join(t.TempDir(), "finish")
	inBackground(c, untilExists(finish))
	until[event.Idle](c)
	require.NoError(t, os.WriteFile(finish, nil, 0o600)) // not before, or the news belong to the first prompt
	select {
	case <-noting:
	case <-time.After(late):
		require.FailNow(t, "no news")
	}
	c.send("say `my answer`")
	time.AfterFunc(300*time.Millisecond, release)
	_, got := until[event.Idle](c)
	assert.Equal(t, "my answer", said(got))
	for b, more := c.next(300 * time.Millisecond); more; b, more = c.next(300 * time.Millisecond) {
		assert.Contains(t, []string{"event.Notice", "event.TitleChanged", "event.UsageChanged", "event.ServerChanged"}, fmt.Sprintf("%T", b), "only these may come at any time")
	}
}

func waitsForSubAgents(t *testing.T, a *sdk.Agent) {
	t.Helper()
	c := open(t, a, nil)
	got := c.run("call `task` ``{\"agent_type\":\"general-purpose\",\"name\":\"helper\",\"description\":\"x\",\"prompt\":\"wait 5 s, then say `found it`\",\"mode\":\"background\"}``")
	var texts []string
	for _, m := range all[event.MessageEnded](got) {
		texts = append(texts, m.Text)
	}
	assert.Contains(t, texts, "found it")
	assert.Equal(t, "Noted.", said(got), "the main agent was notified")
	assert.Empty(t, all[event.ModelChanged](got), "the sub-agent's model is not the session's")
	assert.Equal(t, "next", said(c.run("say `next`")))
}

func closeEndsCommands(t *testing.T, a *sdk.Agent) {
	t.Helper()
	for name, begin := range map[string]func(*talk){
		"a command that the agent waits for": func(c *talk) { runForever(c) },
		"a background command": func(c *talk) {
			inBackground(c, "sleep 60")
			until[event.Idle](c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, a, nil)
			begin(c)
			require.Greater(t, len(children(t, a.Mark())), 1)
			c.close()
			assert.Eventually(t, func() bool { return len(children(t, a.Mark())) == 1 }, late, 10*time.Millisecond)
		})
	}
}

func mayBeRefused(t *testing.T, a *sdk.Agent) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Models(t.Context())
	require.NoError(t, err)
	_, err = a.Open(ctx, agent.Opening{Session: "x", Model: demo.ModelID, Directory: t.TempDir(), Resume: true}, func(string, event.Body) {})
	require.ErrorIs(t, err, context.Canceled)
}

func TestModelCanBeChanged(t *testing.T) {
	t.Parallel()
	var models [2]atomic.Value // paths of requests
	o := options(t)
	o.DemoAlways = false
	for i := range models {
		key := fmt.Sprintf("key-%d", i)
		s := httptest.NewServer(counted(demo.NewHandler(key), &models[i]))
		t.Cleanup(s.Close)
		o.Providers = append(o.Providers, sdk.Provider{Name: fmt.Sprintf("p%d", i), Type: "openai", BaseURL: s.URL + "/v1", APIKey: key})
	}
	a := launch(t, sdk.New(o))
	list, err := a.Models(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []agent.Model{{ID: "p0/demo", Name: "demo (p0)"}, {ID: "p1/demo", Name: "demo (p1)"}}, list)

	c := open(t, a, func(o *agent.Opening) { o.Model = "p0/demo" })
	assert.Equal(t, "first", said(c.run("say `first`")))
	assert.NotEmpty(t, models[0].Load())
	assert.Empty(t, models[1].Load())
	require.NoError(t, c.SetModel(t.Context(), "p1/demo"))
	changed, _ := until[event.ModelChanged](c)
	assert.Equal(t, "p1/demo", changed.Model)
	assert.Contains(t, said(c.run("recall")), "first", "it knows the earlier prompts")
	assert.NotEmpty(t, models[1].Load())
	require.Error(t, c.SetModel(t.Context(), "nothing/such"))
	assert.Equal(t, "third", said(c.run("say `third`")))
}

func TestProviderThatListsModelIsUsed(t *testing.T) {
	t.Parallel()
	var asked [4]atomic.Value // paths of requests
	o := options(t)
	kinds := []struct{ kind, root, chat string }{
		{"openai", "/v1", "/v1/chat/completions"},
		{"anthropic", "", "/v1/messages"},
		{"anthropic", "/v1/", "/v1/messages"},
		{"azure", "", "/openai/v1/chat/completions"},
	}
	for i, k := range kinds {
		s := httptest.NewServer(counted(listing("m"), &asked[i]))
		t.Cleanup(s.Close)
		o.Providers = append(o.Providers, sdk.Provider{Name: fmt.Sprintf("p.%d", i), Type: k.kind, BaseURL: s.URL + k.root, APIKey: "k"})
	}
	a := launch(t, sdk.New(o))
	list, err := a.Models(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 5)
	for i, k := range kinds {
		c := open(t, a, func(o *agent.Opening) { o.Model = list[i].ID })
		got := c.run("hello")
		assert.NotEmpty(t, all[event.SessionError](got), "the provider answers 400")
		assert.Equal(t, k.chat, asked[i].Load())
	}
}
