package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A request is what a chat-completions client sends, as far as a script cares.
type request struct {
	Messages      []message `json:"messages"`
	Tools         []tool    `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ToolChoice any `json:"tool_choice"`
	size       int
}

type message struct {
	Role       string     `json:"role"`
	Content    content    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type tool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

type toolCall struct {
	Index    int      `json:"index"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// content is a string, a list of parts, or nothing.
type content struct {
	raw   json.RawMessage
	texts []string
}

// first is the text that the user wrote. The CLI adds parts about attachments after it.
func (c content) first() string {
	if len(c.texts) == 0 {
		return ""
	}
	return c.texts[0]
}

// all is the whole text.
func (c content) all() string { return strings.Join(c.texts, "\n") }

// UnmarshalJSON keeps what was sent beside the text in it.
func (c *content) UnmarshalJSON(b []byte) error {
	c.raw = append(json.RawMessage(nil), b...)
	if b[0] != '[' {
		c.texts = make([]string, 1)
		return json.Unmarshal(b, &c.texts[0])
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Text != "" {
			c.texts = append(c.texts, p.Text)
		}
	}
	return nil
}

// decode reads a request.
func decode(body io.Reader) (*request, error) {
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	req := &request{size: len(b)}
	if err := json.Unmarshal(b, req); err != nil {
		return nil, fmt.Errorf("the body is no chat-completions request: %w", err)
	}
	for _, m := range req.Messages {
		if m.Role == "user" {
			return req, nil
		}
	}
	return nil, errors.New("messages must hold a message of the user")
}

// A delta is a piece of an answer.
type delta struct {
	Role      string     `json:"role,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Content   string     `json:"content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

// A completion is a chunk of a streamed answer, or the whole of one that is not streamed.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        *delta  `json:"delta,omitempty"`
	Message      *delta  `json:"message,omitempty"`
	FinishReason *string `json:"finish_reason"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// A failure is an error in OpenAI's form.
type failure struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

func (f *failure) Error() string { return f.Message }

// document is the JSON of the failure.
func (f *failure) document() map[string]any { return map[string]any{"error": f} }
