package demo_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/demo"
)

const key = "secret"

// A message is a message of a conversation.
type message map[string]any

func user(prompt string) message {
	return message{"role": "user", "content": "<current_datetime>2026-11-21</current_datetime>\n\n" + prompt}
}

func assistant(text string) message { return message{"role": "assistant", "content": text} }

// called returns the assistant's call of a tool and the tool's result.
func called(c toolCall, result any) []message {
	call := message{"id": c.ID, "type": "function", "function": c.Function}
	return []message{
		{"role": "assistant", "content": nil, "tool_calls": []message{call}},
		{"role": "tool", "tool_call_id": c.ID, "content": result},
	}
}

// A body is a request as the CLI sends it.
type body map[string]any

func request(messages ...message) body {
	tools := []string{"bash", "create", "edit", "view", "ask_user", "sql"}
	system := message{"role": "system", "content": "You are it.\n* Current working directory: /project\n* More"}
	return body{
		"model": "demo", "messages": append([]message{system}, messages...), "tools": offers(tools...),
		"stream": true, "stream_options": message{"include_usage": true},
	}
}

func offers(names ...string) []message {
	var tools []message
	for _, name := range names {
		tools = append(tools, message{"type": "function", "function": message{"name": name, "parameters": message{}}})
	}
	return tools
}

// with changes one field of a request.
func (b body) with(field string, value any) body {
	b[field] = value
	return b
}

func (b body) http(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	var raw bytes.Buffer
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(b))
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", &raw)
	r.Header.Set("Authorization", "Bearer "+key)
	return r
}

type toolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type part struct {
	Role      string     `json:"role"`
	Reasoning string     `json:"reasoning_content"`
	Content   string     `json:"content"`
	ToolCalls []toolCall `json:"tool_calls"`
}

// A document is a chunk or a whole answer of the server.
type document struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Model   string `json:"model"`
	Choices []struct {
		Delta        part    `json:"delta"`
		Message      part    `json:"message"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct{ PromptTokens, CompletionTokens, TotalTokens int } `json:"usage"`
	Error *struct{ Message, Type, Code string }                      `json:"error"`
}

// A reply is an assembled streamed answer.
type reply struct {
	reasoning, content string
	words              []string // pieces of the content
	call               toolCall
	finish             string
	chunks             []document
	done               bool
}

// ask sends a request to a handler and reads its streamed answer.
func ask(t *testing.T, b body) reply {
	t.Helper()
	w := httptest.NewRecorder()
	demo.NewHandler(key).ServeHTTP(w, b.http(t.Context(), t))
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(t, "text/event-stream", w.Header().Get("Content-Type"))
	return readReply(t, w.Body.String())
}

func readReply(t *testing.T, stream string) reply {
	t.Helper()
	var r reply
	lines := bufio.NewScanner(strings.NewReader(stream))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
			require.Empty(t, lines.Text())
		case data == "[DONE]":
			r.done = true
		default:
			var d document
			require.NoError(t, json.Unmarshal([]byte(data), &d))
			r.add(d)
		}
	}
	require.NoError(t, lines.Err())
	return r
}

func (r *reply) add(d document) {
	r.chunks = append(r.chunks, d)
	for _, c := range d.Choices {
		r.reasoning += c.Delta.Reasoning
		r.content += c.Delta.Content
		if c.Delta.Content != "" {
			r.words = append(r.words, c.Delta.Content)
		}
		for _, tc := range c.Delta.ToolCalls {
			r.call.ID += tc.ID
			r.call.Function.Name += tc.Function.Name
			r.call.Function.Arguments += tc.Function.Arguments
		}
		if c.FinishReason != nil {
			r.finish = *c.FinishReason
		}
	}
}
