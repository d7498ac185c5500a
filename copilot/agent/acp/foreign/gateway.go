package foreign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A dialect is the interface of a provider of models.
type dialect struct {
	path  string // what the path of its requests contains
	tools map[string]tool
	read  func(body []byte) (chat, error)
	write func(w io.Writer, model string) encoder
}

// A tool is what an agent calls a tool that the scripted model knows by another name.
type tool struct {
	name      string
	arguments func(map[string]any) map[string]any
}

// An encoder writes an answer as a provider streams it.
type encoder interface {
	thought(text string)
	text(text string)
	call(id, name string, arguments map[string]any)
	end(calls bool)
}

// chat is a request for the scripted model: chat completions.
type chat struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Tools    []chatTool    `json:"tools,omitempty"`
	Stream   bool          `json:"stream"`
}

type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function chatFunction `json:"function"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
}

// part is a part of a message of the user.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image any    `json:"image_url,omitempty"`
}

// offer adds a tool that the agent offers.
func (c *chat) offer(name string) {
	c.Tools = append(c.Tools, chatTool{"function", chatFunction{Name: name}})
}

// prompt adds a message of the user, unless it has only what the agent itself says.
func (c *chat) prompt(parts []part) {
	if len(parts) > 0 {
		c.Messages = append(c.Messages, chatMessage{Role: "user", Content: parts})
	}
}

// called adds a call of a tool by the model. Only its id counts.
func (c *chat) called(id string) {
	c.Messages = append(c.Messages, chatMessage{Role: "assistant", Calls: []chatCall{{ID: id, Type: "function"}}})
}

// gateway serves the scripted model at url as another provider does, and returns its own address.
func gateway(tb testing.TB, d dialect, url, key string) string {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, d.path) {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		if err := d.serve(w, r, url, key); err != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	tb.Cleanup(s.Close)
	return s.URL
}

// serve answers a request with the answer of the scripted model.
func (d dialect) serve(w http.ResponseWriter, r *http.Request, url, key string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	request, err := d.read(body)
	if err != nil {
		return err
	}
	model := request.Model
	request.Model, request.Stream = "demo", true
	names := d.rename(&request)
	asked, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err = http.NewRequestWithContext(r.Context(), http.MethodPost, url+"/chat/completions", bytes.NewReader(asked))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	answer, err := (&http.Client{Timeout: time.Hour}).Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if answer.StatusCode != http.StatusOK {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.StatusCode)
		_, err := io.Copy(w, answer.Body)
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	return d.translate(answer.Body, d.write(flushing{w}, model), names)
}

// rename gives the offered tools the names that the scripted model knows, and returns the names of the agent.
func (d dialect) rename(c *chat) map[string]string {
	names := map[string]string{}
	for i, offered := range c.Tools {
		name := offered.Function.Name
		if _, server, is := strings.Cut(name, "mcp_"); is {
			c.Tools[i].Function.Name = strings.ReplaceAll(strings.TrimLeft(server, "_"), ".", "_")
		}
		names[c.Tools[i].Function.Name] = name
	}
	for known, t := range d.tools {
		if _, offered := names[t.name]; offered {
			names[known] = t.name
			c.offer(known)
		}
	}
	return names
}

// translate writes the events of a streamed answer.
func (d dialect) translate(stream io.Reader, e encoder, names map[string]string) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<24)
	var call chatCall
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is || data == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Reasoning string     `json:"reasoning_content"`
					Content   string     `json:"content"`
					Calls     []chatCall `json:"tool_calls"`
				} `json:"delta"`
				Reason string `json:"finish_reason"`
			} `json:"choices"`
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return err
		}
		for _, c := range chunk.Choices {
			if c.Delta.Reasoning != "" {
				e.thought(c.Delta.Reasoning)
			}
			if c.Delta.Content != "" {
				e.text(c.Delta.Content)
			}
			for _, piece := range c.Delta.Calls {
				call.ID += piece.ID
				call.Function.Name += piece.Function.Name
				call.Function.Arguments += piece.Function.Arguments
			}
			if c.Reason != "" {
				return d.finish(e, call, names)
			}
		}
	}
	return fmt.Errorf("the answer has no end: %w", lines.Err())
}

// finish ends an answer, with a call of a tool if it has one.
func (d dialect) finish(e encoder, call chatCall, names map[string]string) error {
	if call.ID == "" {
		e.end(false)
		return nil
	}
	var arguments map[string]any
	if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil {
		return err
	}
	if t, known := d.tools[call.Function.Name]; known {
		arguments = t.arguments(arguments)
	}
	e.call(call.ID, names[call.Function.Name], arguments)
	e.end(true)
	return nil
}

// flushing sends each write at once.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	if err == nil {
		err = http.NewResponseController(f.ResponseWriter).Flush()
	}
	return n, err
}

// sse writes an event of a stream. The client may be gone: then nobody reads it.
func sse(w io.Writer, kind string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if kind != "" {
		kind = "event: " + kind + "\n"
	}
	_, _ = fmt.Fprintf(w, "%sdata: %s\n\n", kind, b)
}

// renamed returns arguments under the names that an agent gives them: pairs of the model's name and the agent's.
func renamed(pairs ...string) func(map[string]any) map[string]any {
	return func(arguments map[string]any) map[string]any {
		result := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			if v, has := arguments[pairs[i]]; has {
				result[pairs[i+1]] = v
			}
		}
		return result
	}
}
