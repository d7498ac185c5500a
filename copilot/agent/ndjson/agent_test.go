package ndjson_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// prompted returns the events of one prompt.
func prompted(t *testing.T, serve func(*cli, frame)) (told []event.Body) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, greeted(serve))
		a := f.launch(t)
		idle := make(chan struct{})
		c, err := a.Open(t.Context(), agent.Opening{Session: "s", Model: "fake-cli"}, func(_ string, b event.Body) {
			if _, over := b.(event.Idle); over {
				close(idle)
			}
			told = append(told, b)
		})
		require.NoError(t, err)
		require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "hello"}))
		<-idle
		require.NoError(t, c.Close(t.Context()))
		a.Stop(t.Context())
	})
	return told
}

// texts returns the texts of the ends of messages and of their deltas, in order.
func texts(told []event.Body) (whole []string, deltas []string) {
	at := map[string]int{}
	for _, b := range told {
		switch b := b.(type) {
		case event.MessageStarted:
			at[b.ID] = len(deltas)
			deltas = append(deltas, "")
		case event.MessageDelta:
			deltas[at[b.ID]] += b.Text
		case event.MessageEnded:
			whole = append(whole, b.Text)
		}
	}
	return whole, deltas
}

func TestAnswerIsRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		chunks        []string
		answer        string
		whole, deltas []string
	}{
		"in chunks":                   {[]string{"a ", "b"}, "a b", []string{"a b"}, []string{"a b"}},
		"without chunks":              {nil, "a b", []string{"a b"}, []string{"a b"}},
		"with missing chunks":         {[]string{"a "}, "a b", []string{"a b"}, []string{"a b"}},
		"with extra spaces in chunks": {[]string{"a b\n"}, "a b", []string{"a b"}, []string{"a b\n"}},
		"with different chunks":       {[]string{"x"}, "a b", []string{"", "a b"}, []string{"x", "a b"}},
		"that is empty":               {nil, "", []string{""}, nil},
		"that is empty after chunks":  {[]string{"x"}, "", []string{"", ""}, []string{"x"}},
	} {
		t.Run(name, func(t *testing.T) {
			told := prompted(t, func(c *cli, f frame) {
				for i, text := range tc.chunks {
					c.chunk(f, i, text)
				}
				c.say(f, tc.answer)
			})
			whole, deltas := texts(told)
			assert.Equal(t, tc.whole, whole)
			assert.Equal(t, tc.deltas, deltas)
		})
	}
}

func TestEachAttemptIsItsOwnMessage(t *testing.T) {
	var mu sync.Mutex
	attempt := 0
	told := prompted(t, func(c *cli, f frame) {
		mu.Lock()
		attempt++
		first := attempt == 1
		mu.Unlock()
		c.chunk(f, 0, "a heron")
		if first {
			c.fail(f, -32004)
			return
		}
		c.say(f, "a heron")
	})
	whole, deltas := texts(told)
	assert.Equal(t, []string{"", "a heron"}, whole)
	assert.Equal(t, []string{"a heron", "a heron"}, deltas)
	assert.Equal(t, map[string]any{
		"attempt": 2.0, "seconds": 3.0, "error": `the agent's program refused "chat": no (-32004)`,
	}, notice(t, told, "portal.retry"))
}

func notice(t *testing.T, told []event.Body, kind string) (value map[string]any) {
	t.Helper()
	for _, b := range told {
		if n, ok := b.(event.Notice); ok && n.Kind == kind {
			require.NoError(t, json.Unmarshal(n.Raw, &value))
		}
	}
	return value
}

func TestSuggestionsAreANotice(t *testing.T) {
	told := prompted(t, func(c *cli, f frame) {
		c.result(f, `{"message":"hello","suggestions":["Upload a file","Paste a URL"]}`)
	})
	assert.Equal(t, map[string]any{"suggestions": []any{"Upload a file", "Paste a URL"}}, notice(t, told, "portal.suggestions"))
	assert.IsType(t, event.Idle{}, told[len(told)-1])
}

func TestProgramReceivesTheRequests(t *testing.T) {
	var got string
	prompted(t, func(c *cli, f frame) {
		if f.Method == "chat" {
			got = string(f.Params)
		}
		c.say(f, "hello")
	})
	assert.JSONEq(t, `{"message":"hello","context":{"tabId":"s","hasActiveSpec":false,"hasActiveInterface":false}}`, got)
}

func TestAttachments(t *testing.T) {
	for name, tc := range map[string]struct {
		attachment event.Attachment
		want       string
	}{
		"a text becomes part of the message":      {event.Attachment{Name: "poem", Text: "a heron"}, "look\n\npoem:\n```\na heron\n```"},
		"lines name their origin":                 {event.Attachment{Path: "/a.go", First: 2, Last: 3, Text: "x"}, "look\n\n/a.go, lines 2-3:\n```\nx\n```"},
		"a text with a fence gets a longer fence": {event.Attachment{Name: "md", Text: "````\nx\n````"}, "look\n\nmd:\n`````\n````\nx\n````\n`````"},
		"a file is refused":                       {event.Attachment{Path: "/a.go"}, ""},
		"an image is refused":                     {event.Attachment{Data: []byte("x"), Type: "image/png"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ndjson.Message(event.Prompt{Text: "look", Attachments: []event.Attachment{tc.attachment}})
			assert.Equal(t, tc.want, got)
			if tc.want == "" {
				assert.Equal(t, fault.Invalid, fault.KindOf(err))
			}
		})
	}
}

func TestSteeringPromptGetsItsOwnRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, greeted(func(c *cli, f frame) { c.say(f, "hello") }))
		a := f.launch(t)
		c, err := a.Open(t.Context(), agent.Opening{Session: "s"}, func(string, event.Body) {})
		require.NoError(t, err)
		require.ErrorIs(t, c.Send(t.Context(), event.Prompt{Text: "x", Steer: true}), fault.ErrIdle)
		a.Stop(t.Context())
	})
}

func TestMisbehavingProgramIsDetected(t *testing.T) {
	for name, tc := range map[string]struct {
		answer time.Duration
		alive  bool
	}{
		"a program that lets a request time out is not alive": {time.Hour, false},
		"a program that answers in time is alive":             {time.Second, true},
		"a program that answers too late is alive again":      {16 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFakes(t, greeted(func(c *cli, f frame) {
					select {
					case <-time.After(tc.answer):
						c.say(f, "hello")
					case <-c.gone:
					}
				}))
				a := f.launch(t)
				require.NoError(t, a.Ping(t.Context()), "no request is open")
				c, err := a.Open(t.Context(), agent.Opening{Session: "s"}, func(string, event.Body) {})
				require.NoError(t, err)
				require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "x"}))
				time.Sleep(15*time.Second + time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				if err := a.Ping(ctx); tc.alive {
					require.NoError(t, err)
				} else {
					assert.Equal(t, fault.Busy, fault.KindOf(err), "its activity is unknown")
				}
				require.NoError(t, c.Close(t.Context()))
				a.Stop(t.Context())
				require.Error(t, a.Ping(t.Context()))
			})
		})
	}
}

func TestNonAgentProgramIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakes(t, func(c *cli, f frame) { c.fail(f, -32601) })
		_, err := ndjson.LaunchOf(f.start, silent)(t.Context())
		assert.Equal(t, fault.Unavailable, fault.KindOf(err))
		assert.ErrorContains(t, err, "did not start as an agent")
	})
}
