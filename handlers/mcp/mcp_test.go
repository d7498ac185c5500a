package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/mcp"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
	"github.com/copilot-portal/portal/jobs/operation"
)

// document is decoded JSON.
type document = map[string]any

// client is an MCP client of a portal with scripted agents.
type client struct {
	*testing.T
	*sdk.ClientSession

	host *copilot.Host
	api  *mcp.API

	mu       sync.Mutex
	progress []string
}

// serve runs a test with a client, in virtual time.
func serve(t *testing.T, script func(*fake.Turn), change func(*mcp.Options), test func(*client)) {
	t.Helper()
	serveWith(t, copilot.Options{}, script, change, test)
}

// serveWith is serve with options of the host.
func serveWith(t *testing.T, options copilot.Options, script func(*fake.Turn), change func(*mcp.Options), test func(*client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		agents.Script = script
		defer agents.Close()
		host := agents.NewHost(options)
		defer host.Close(t.Context())
		work := jobs.New(jobs.Options{Sessions: host, Book: book.BuiltIn(), Directory: "/"})
		defer work.Close(t.Context())
		operations := operation.New(operation.Options{Sessions: host, Directory: "/"})
		defer operations.Close(t.Context())
		o := mcp.Options{Host: host, Jobs: work, Operations: operations, WorkDir: "/", Version: "1", MaxDepth: 3}
		if change != nil {
			change(&o)
		}
		test(connect(t, host, mcp.New(o)))
	})
}

// connect connects a client over pipes.
func connect(t *testing.T, host *copilot.Host, api *mcp.API) *client {
	t.Helper()
	c := &client{T: t, host: host, api: api}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- api.Serve(context.WithoutCancel(t.Context()), in, out, func() {}) }()
	sdkClient := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress = append(c.progress, r.Params.Message)
		},
	})
	var err error
	c.ClientSession, err = sdkClient.Connect(t.Context(), &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		<-served
	})
	return c
}

// use calls a tool and returns its result. It fails the test if the call fails.
func (c *client) use(tool string, arguments document) document {
	c.Helper()
	result, failure := c.try(c.Context(), tool, arguments)
	require.Empty(c, failure, tool)
	return result
}

// try calls a tool and returns its result, or the text of its error.
func (c *client) try(ctx context.Context, tool string, arguments document) (result document, failure string) {
	c.Helper()
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken("token")
	r, err := c.CallTool(ctx, params)
	if err != nil {
		return nil, err.Error()
	}
	text, ok := r.Content[0].(*sdk.TextContent)
	require.True(c, ok)
	if r.IsError {
		return nil, text.Text
	}
	require.NoError(c, json.Unmarshal([]byte(text.Text), &result), text.Text)
	return result, ""
}

func (c *client) start() string {
	c.Helper()
	id, _ := c.use("start_session", document{})["sessionId"].(string)
	require.NotEmpty(c, id)
	return id
}

// seen returns the notifications of progress so far.
func (c *client) seen() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.progress...)
}

// askPermission asks for a permission and says the answer.
func askPermission(t *fake.Turn) {
	q := event.Question{Title: "Run ls", Detail: "ls"}
	q.SetNeeds(permission.ShellNeeds("ls")...)
	switch answer, ok := t.Ask(q); {
	case !ok:
	case answer.Approved:
		t.Say("yes")
	default:
		t.Say("no: " + answer.Reason)
	}
}

// checkSchema checks that every part of a schema is an object with at most one type.
func checkSchema(t *testing.T, path string, schema any) {
	t.Helper()
	s, isObject := schema.(document)
	require.True(t, isObject, "%s: %v", path, schema)
	_, isList := s["type"].([]any)
	assert.False(t, isList, path)
	if items, has := s["items"]; has {
		checkSchema(t, path+"[]", items)
	}
	properties, _ := s["properties"].(document)
	for name, property := range properties {
		checkSchema(t, path+"."+name, property)
	}
}

func TestSchemasOfToolsSuitAllModels(t *testing.T) {
	serve(t, nil, nil, func(c *client) {
		list, err := c.ListTools(c.Context(), nil)
		require.NoError(c, err)
		require.Len(c, list.Tools, 15)
		for _, tool := range list.Tools {
			checkSchema(c.T, tool.Name, tool.InputSchema)
			if tool.Name != "read_events" {
				checkSchema(c.T, tool.Name+" result", tool.OutputSchema)
			}
		}
	})
}

func TestPromptReturnsTheAnswer(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		t.Call("bash", `{"command":"ls"}`, "x")
		t.Say("done")
	}, nil, func(c *client) {
		id := c.start()
		got := c.use("prompt", document{"sessionId": id, "prompt": "hello"})
		assert.Equal(c, "completed", got["state"])
		assert.Equal(c, "done", got["answer"])
		assert.Equal(c, []string{"The agent has started.", `Calls bash {"command":"ls"}`, "done", "The run has ended: completed."}, c.seen())
		assert.Equal(c, got, c.use("wait", document{"sessionId": id}), "a later call returns the same")
		assert.Equal(c, got, c.use("wait", document{"sessionId": id, "runId": got["runId"]}))
	})
}

func TestOpenQuestionIsReturnedAndAnswered(t *testing.T) {
	for name, test := range map[string]struct {
		answer document
		want   string
	}{
		"approved": {document{"approved": true}, "yes"},
		"refused":  {document{"approved": false, "reason": "not now"}, "no: not now"},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, askPermission, nil, func(c *client) {
				id := c.start()
				got := c.use("prompt", document{"sessionId": id, "prompt": "hello"})
				require.Equal(c, "waiting", got["state"])
				questions, _ := got["questions"].([]any)
				require.Len(c, questions, 1)
				q, _ := questions[0].(document)
				assert.Equal(c, "permission", q["kind"])
				assert.Equal(c, "Run ls", q["title"])
				assert.Equal(c, []any{"exec.run"}, q["names"])
				assert.Equal(c, got["questions"], c.use("wait", document{"sessionId": id})["questions"], "it stays open")
				arguments := document{"sessionId": id, "questionId": q["questionId"]}
				for k, v := range test.answer {
					arguments[k] = v
				}
				got = c.use("answer", arguments)
				assert.Equal(c, "completed", got["state"])
				assert.Equal(c, test.want, got["answer"])
				_, failure := c.try(c.Context(), "answer", arguments)
				assert.Equal(c, "already_answered: the question was already answered", failure)
			})
		})
	}
}

func TestAnswerOfAnotherClientContinuesTheCall(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		t.Wait(time.Second)
		askPermission(t)
	}, nil, func(c *client) {
		id := c.start()
		got := c.use("prompt", document{"sessionId": id, "prompt": "hello"})
		require.Equal(c, "waiting", got["state"])
		s, err := c.host.Session(c.Context(), id)
		require.NoError(c, err)
		questions, _ := got["questions"].([]any)
		q, _ := questions[0].(document)
		question, _ := q["questionId"].(string)
		require.NoError(c, s.Answer(question, event.Answer{Approved: true}, "ui"))
		assert.Equal(c, "yes", c.use("wait", document{"sessionId": id})["answer"])
	})
}

func TestInputIsAnsweredWithText(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		if answer, ok := t.Ask(event.Question{Kind: event.AskInput, Text: "Which?", Choices: []string{"red", "green"}}); ok {
			t.Say(answer.Text)
		}
	}, nil, func(c *client) {
		id := c.start()
		got := c.use("prompt", document{"sessionId": id, "prompt": "hello"})
		questions, _ := got["questions"].([]any)
		require.Len(c, questions, 1)
		q, _ := questions[0].(document)
		assert.Equal(c, []any{"red", "green"}, q["choices"])
		_, failure := c.try(c.Context(), "answer", document{"sessionId": id, "questionId": q["questionId"], "text": "blue"})
		assert.Contains(c, failure, "invalid: ")
		assert.Equal(c, "green", c.use("answer", document{"sessionId": id, "questionId": q["questionId"], "text": "green"})["answer"])
	})
}

func TestQuestionThatTheRecordNoLongerKeepsIsShown(t *testing.T) {
	serveWith(t, copilot.Options{RecordBudget: 1 << 20}, func(t *fake.Turn) {
		go func() {
			for i := range 5 {
				t.Call("bash", `{}`, fmt.Sprint(i, strings.Repeat("x", 400<<10)))
			}
		}()
		askPermission(t)
	}, nil, func(c *client) {
		id := c.start()
		c.use("prompt", document{"sessionId": id, "prompt": "hello", "waitSeconds": 0})
		synctest.Wait()
		began := time.Now()
		got := c.use("wait", document{"sessionId": id})
		assert.Equal(c, "waiting", got["state"])
		assert.Len(c, got["questions"], 1)
		assert.Zero(c, time.Since(began))
	})
}

func TestCallReturnsAtItsDeadline(t *testing.T) {
	serve(t, func(t *fake.Turn) {
		if t.Wait(2 * time.Minute) {
			t.Say("late")
		}
	}, nil, func(c *client) {
		id, began := c.start(), time.Now()
		got := c.use("prompt", document{"sessionId": id, "prompt": "hello"})
		assert.Equal(c, "working", got["state"])
		assert.Equal(c, 50*time.Second, time.Since(began))
		assert.Contains(c, c.seen(), "working", "a client that sees progress waits longer")
		assert.Equal(c, "working", c.use("wait", document{"sessionId": id, "waitSeconds": 0})["state"])
		next := c.use("prompt", document{"sessionId": id, "prompt": "and then", "waitSeconds": 1})
		assert.Equal(c, "queued", next["state"])
		assert.Equal(c, "late", c.use("wait", document{"sessionId": id, "runId": got["runId"], "waitSeconds": 600})["answer"])
		assert.Equal(c, "completed", c.use("wait", document{"sessionId": id, "runId": next["runId"], "waitSeconds": 600})["state"])
	})
}

func TestCancelledPromptCancelsItsRun(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Wait(time.Hour) }, nil, func(c *client) {
		id := c.start()
		ctx, cancel := context.WithTimeout(c.Context(), time.Second)
		defer cancel()
		_, failure := c.try(ctx, "prompt", document{"sessionId": id, "prompt": "hello"})
		assert.Contains(c, failure, "deadline")
		assert.Equal(c, "cancelled", c.use("wait", document{"sessionId": id})["state"])
	})
}

func TestCancelledWaitLeavesTheRun(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Wait(time.Minute) }, nil, func(c *client) {
		id := c.start()
		c.use("prompt", document{"sessionId": id, "prompt": "hello", "waitSeconds": 0})
		ctx, cancel := context.WithTimeout(c.Context(), time.Second)
		defer cancel()
		_, failure := c.try(ctx, "wait", document{"sessionId": id})
		assert.Contains(c, failure, "deadline")
		assert.Equal(c, "completed", c.use("wait", document{"sessionId": id, "waitSeconds": 600})["state"])
	})
}

func TestRunIsCancelledByTheTool(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Wait(time.Hour) }, nil, func(c *client) {
		id := c.start()
		c.use("prompt", document{"sessionId": id, "prompt": "hello", "waitSeconds": 0})
		assert.Equal(c, document{"done": true}, c.use("cancel", document{"sessionId": id}))
		assert.Equal(c, "cancelled", c.use("wait", document{"sessionId": id})["state"])
	})
}

func TestErrorsHaveNames(t *testing.T) {
	serve(t, nil, nil, func(c *client) {
		id := c.start()
		for _, e := range []struct {
			tool      string
			arguments document
			want      string
		}{
			{"prompt", document{"sessionId": "x", "prompt": "hello"}, "session_not_found: "},
			{"prompt", document{"sessionId": id, "prompt": " "}, "invalid: "},
			{"prompt", document{"sessionId": id, "prompt": "x", "mode": "fast"}, "invalid: "},
			{"prompt", document{"sessionId": id, "prompt": "x", "waitSeconds": 3601}, "invalid: "},
			{"prompt", document{"sessionId": id}, `validating "arguments"`},
			{"wait", document{"sessionId": id}, "not_found: "},
			{"wait", document{"sessionId": id, "runId": "x"}, "run_not_found: "},
			{"answer", document{"sessionId": id, "questionId": "x", "approved": true}, "question_not_found: "},
			{"answer", document{"sessionId": id, "questionId": "x"}, "invalid: "},
			{"read_events", document{"sessionId": "x"}, "session_not_found: "},
			{"start_session", document{"directory": "relative"}, "directory_not_absolute: "},
			{"start_session", document{"directory": "/nowhere/at/all"}, "directory_not_found: "},
			{"start_session", document{"model": "none"}, "model_not_found: "},
			{"search_sessions", document{"query": "x"}, "unavailable: "},
			{"run_job", document{"name": "none"}, "not_found: "},
			{"run_job", document{"name": "implement"}, "invalid: "},
			{"watch_job", document{"jobId": "x"}, "job_not_found: "},
			{"start_operation", document{"type": "none"}, "invalid: "},
			{"read_operation", document{"operationId": "x"}, "not_found: "},
		} {
			_, failure := c.try(c.Context(), e.tool, e.arguments)
			assert.Contains(c, failure, e.want, "%s %v", e.tool, e.arguments)
		}
		_, err := c.CallTool(c.Context(), &sdk.CallToolParams{Name: "none"})
		require.ErrorContains(c, err, "none")
	})
}

func TestEventsAreReadInPages(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Say("one") }, nil, func(c *client) {
		id := c.start()
		run := c.use("prompt", document{"sessionId": id, "prompt": "hello"})
		var types []any
		for after := any(0); ; {
			page := c.use("read_events", document{"sessionId": id, "after": after, "limit": 2})
			events, _ := page["events"].([]any)
			assert.LessOrEqual(c, len(events), 2)
			for _, e := range events {
				line, _ := e.(document)
				types = append(types, line["type"])
			}
			assert.Equal(c, run["last"], page["last"])
			if page["next"] == nil {
				break
			}
			after = page["next"]
		}
		assert.Contains(c, types, "user.message")
		assert.Contains(c, types, "message.ended")
	})
}

func TestSessionsAreListed(t *testing.T) {
	serve(t, nil, nil, func(c *client) {
		id := c.start()
		list, _ := c.use("list_sessions", nil)["sessions"].([]any)
		require.Len(c, list, 1)
		s, _ := list[0].(document)
		assert.Equal(c, id, s["sessionId"])
		assert.Equal(c, "mcp", s["origin"])
		assert.Equal(c, "idle", s["state"])
	})
}

func TestResourcesHoldSessionsAndResults(t *testing.T) {
	serve(t, func(t *fake.Turn) { t.Say("the answer") }, nil, func(c *client) {
		id := c.start()
		run, _ := c.use("prompt", document{"sessionId": id, "prompt": "hello"})["runId"].(string)
		read := func(uri string) string {
			r, err := c.ReadResource(c.Context(), &sdk.ReadResourceParams{URI: uri})
			require.NoError(c, err, uri)
			return r.Contents[0].Text
		}
		assert.Equal(c, "the answer", read("portal://result/"+id+"/"+run))
		assert.Contains(c, read("portal://session/"+id), "the answer")
		assert.Contains(c, read("portal://sessions"), id)
		for _, uri := range []string{"portal://session/x", "portal://result/" + id + "/x", "portal://job/x", "portal://operation/x", "portal://none"} {
			_, err := c.ReadResource(c.Context(), &sdk.ReadResourceParams{URI: uri})
			require.Error(c, err, uri)
		}
		templates, err := c.ListResourceTemplates(c.Context(), nil)
		require.NoError(c, err)
		assert.Len(c, templates.ResourceTemplates, 4)
	})
}
