package sdk_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/sdk"
)

func TestALongAnswerArrivesWholeAndInOrder(t *testing.T) {
	c := open(t, launch(t, sdk.New(options(t))), nil)
	got := c.run("5,000 tokens")
	deltas := all[copilot.MessageDelta](got)
	require.Len(t, deltas, 5000)
	for i, d := range deltas {
		require.Equal(t, fmt.Sprintf("w%d", i+1), strings.TrimSpace(d.Text))
	}
}

func TestAConversationIsSummedUp(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	t.Run("whole", func(t *testing.T) {
		c := open(t, a, nil)
		c.run("say `x`")
		require.NoError(t, c.Compact(t.Context()))
		ended, _ := until[copilot.CompactionEnded](c)
		assert.Empty(t, ended.Error)
		assert.Contains(t, ended.Summary, "say `x`")
		assert.Equal(t, "y", said(c.run("say `y`")))
	})
	t.Run("or not, where nothing was said", func(t *testing.T) {
		c := open(t, a, nil)
		require.ErrorIs(t, c.Compact(t.Context()), copilot.ErrNothingToCompact)
		assert.Equal(t, "y", said(c.run("say `y`")))
	})
	t.Run("or is given up", func(t *testing.T) {
		c := open(t, a, nil)
		c.run("say `x`")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, c.Compact(ctx), context.DeadlineExceeded)
		assert.Less(t, time.Since(began), 2*time.Second)
		assert.Equal(t, "y", said(c.run("say `y`")))
	})
}

func TestACommandRunsWithPermissionOnly(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	for name, tc := range map[string]struct {
		answer copilot.Answer
		output string
	}{
		"approved": {copilot.Answer{Approved: true}, "hello\n"},
		"refused":  {copilot.Answer{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, a, nil)
			c.send("run `echo hello > file; cat file`")
			asked, _ := until[copilot.QuestionAsked](c)
			assert.Equal(t, "echo hello > file; cat file", asked.Question.Detail)
			file := filepath.Join(c.opening.Directory, "file")
			assert.NoFileExists(t, file)
			c.answer(asked.Question, tc.answer)
			_, rest := until[copilot.Idle](c)
			output := ""
			for _, o := range all[copilot.ToolOutput](rest) {
				output += o.Text
			}
			assert.Equal(t, tc.output, output)
			_, err := os.Stat(file)
			assert.Equal(t, tc.answer.Approved, err == nil)
		})
	}
}

func TestReadingThroughALinkIsSeen(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(outside, []byte("s3cret"), 0o600))
	c := open(t, launch(t, sdk.New(options(t))), nil)
	require.NoError(t, os.Symlink(outside, filepath.Join(c.opening.Directory, "link")))
	c.send("read `link`")
	asked, _ := until[copilot.QuestionAsked](c)
	assert.Equal(t, []string{copilot.PermRead}, asked.Question.Names)
	target, err := filepath.EvalSymlinks(outside)
	require.NoError(t, err)
	assert.Equal(t, target, asked.Question.Path)
	c.answer(asked.Question, copilot.Answer{})
	_, rest := until[copilot.Idle](c)
	assert.NotContains(t, show(rest), "s3cret")
}

func TestNoHandlerOfAQuestionIsLeftBehind(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	for name, do := range map[string]func(*talk){
		"after answers": func(c *talk) {
			for range 5 { // an answer can be faster than the SDK
				c.send("ask `Sure?`, then ask `Sure?`")
				for range 2 {
					asked, _ := until[copilot.QuestionAsked](c)
					c.answer(asked.Question, copilot.Answer{Text: "yes"})
				}
				until[copilot.Idle](c)
			}
		},
		"after an abort": func(c *talk) {
			c.send("ask `Which?`")
			until[copilot.QuestionAsked](c)
			c.abort()
		},
		"after Close": func(c *talk) {
			c.send("ask `Which?`")
			until[copilot.QuestionAsked](c)
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

func TestAnAbortEndsCommandsToo(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	for name, begin := range map[string]func(*talk){
		"one that the agent waits for": func(c *talk) { runForever(c) },
		"one in the background and a stream": func(c *talk) {
			inBackground(c, 60)
			until[copilot.Idle](c)
			c.send("5,000 tokens in 20 s")
			until[copilot.MessageDelta](c)
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
			assert.Equal(t, []copilot.Idle{{}}, all[copilot.Idle](got))
		})
	}
}

// inBackground lets the agent start a command that it does not wait for.
func inBackground(c *talk, seconds int) {
	c.t.Helper()
	c.send(fmt.Sprintf("call `bash` `{\"command\":\"sleep %d; echo finished\",\"mode\":\"async\",\"description\":\"a pause\"}`", seconds))
	asked, _ := until[copilot.QuestionAsked](c)
	c.answer(asked.Question, copilot.Answer{Approved: true})
}

func TestACommandInTheBackgroundKeepsNobodyWaiting(t *testing.T) {
	c := open(t, launch(t, sdk.New(options(t))), nil)
	inBackground(c, 60)
	begin := time.Now()
	until[copilot.Idle](c)
	assert.Less(t, time.Since(begin), 5*time.Second)
	assert.Equal(t, "hello", said(c.run("say `hello`")))
}

func TestNewsOfTheBackgroundDoNotEndAPromptEarly(t *testing.T) {
	// The model takes a second to note the news, in which the next prompt is sent.
	h, hold := demo.NewHandler("k"), make(chan struct{})
	noting := make(chan struct{}, 1)
	s := httptest.NewServer(delayed(h, "has completed successfully", noting, hold))
	defer s.Close()
	o := options(t)
	o.Demo = func() (sdk.Provider, error) {
		return sdk.Provider{Name: "d", Type: "openai", BaseURL: s.URL + "/v1", APIKey: "k", Models: []string{demo.ModelID}}, nil
	}
	c := open(t, launch(t, sdk.New(o)), nil)
	inBackground(c, 1)
	until[copilot.Idle](c)
	<-noting
	c.send("say `my answer`")
	time.AfterFunc(300*time.Millisecond, func() { close(hold) })
	_, got := until[copilot.Idle](c)
	assert.Equal(t, "my answer", said(got))
	_, more := c.next(300 * time.Millisecond)
	assert.False(t, more)
}

func TestSubAgentsInTheBackgroundAreWaitedFor(t *testing.T) {
	c := open(t, launch(t, sdk.New(options(t))), nil)
	got := c.run("call `task` ``{\"agent_type\":\"general-purpose\",\"name\":\"helper\",\"description\":\"x\",\"prompt\":\"wait 1 s, then say `found it`\",\"mode\":\"background\"}``")
	var texts []string
	for _, m := range all[copilot.MessageEnded](got) {
		texts = append(texts, m.Text)
	}
	assert.Contains(t, texts, "found it")
	assert.Equal(t, "Noted.", said(got), "the main agent was told")
	assert.Empty(t, all[copilot.ModelChanged](got), "the helper's model is not the session's")
	assert.Equal(t, "next", said(c.run("say `next`")))
}

func TestCloseEndsCommands(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	for name, begin := range map[string]func(*talk){
		"one that the agent waits for": func(c *talk) { runForever(c) },
		"one in the background": func(c *talk) {
			inBackground(c, 60)
			until[copilot.Idle](c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, a, nil)
			begin(c)
			require.Greater(t, len(children(t, a.Mark())), 1)
			c.close()
			assert.Eventually(t, func() bool { return len(children(t, a.Mark())) == 1 }, soon, 10*time.Millisecond)
		})
	}
}

func TestAConversationThatIsRefusedIsAnError(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Models(t.Context())
	require.NoError(t, err)
	_, err = a.Open(ctx, copilot.Opening{Session: "x", Model: demo.ModelID, Directory: t.TempDir(), Resume: true}, func(string, copilot.Body) {})
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheModelCanBeChanged(t *testing.T) {
	var models [2]string
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
	assert.Equal(t, []copilot.Model{{ID: "p0/demo", Name: "demo (p0)"}, {ID: "p1/demo", Name: "demo (p1)"}}, list)

	c := open(t, a, func(o *copilot.Opening) { o.Model = "p0/demo" })
	assert.Equal(t, "first", said(c.run("say `first`")))
	assert.NotEmpty(t, models[0])
	assert.Empty(t, models[1])
	require.NoError(t, c.SetModel(t.Context(), "p1/demo"))
	changed, _ := until[copilot.ModelChanged](c)
	assert.Equal(t, "p1/demo", changed.Model)
	assert.Contains(t, said(c.run("recall")), "first", "it knows the past")
	assert.NotEmpty(t, models[1])
	require.Error(t, c.SetModel(t.Context(), "nothing/such"))
	assert.Equal(t, "third", said(c.run("say `third`")))
}

func TestProvidersAreUsedWhereTheyListTheirModels(t *testing.T) {
	var asked [4]string
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
		c := open(t, a, func(o *copilot.Opening) { o.Model = list[i].ID })
		got := c.run("hello")
		assert.NotEmpty(t, all[copilot.SessionFailed](got), "it answers 400")
		assert.Equal(t, k.chat, asked[i])
	}
}
