package foreign

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// gemini is the API of Gemini. Its calls have no ids: a call is known by its place in the conversation.
func gemini() dialect {
	return dialect{
		path: ":streamGenerateContent", read: readContents,
		write: func(w io.Writer, _ string) encoder { return geminiEncoder{w} },
		tools: map[string]tool{
			"bash":   {"run_shell_command", renamed("command", "command", "description", "description")},
			"create": {"write_file", renamed("path", "file_path", "file_text", "content")},
			"edit":   {"replace", renamed("path", "file_path", "old_str", "old_string", "new_str", "new_string")},
			"view":   {"read_file", renamed("path", "file_path")},
		},
	}
}

type geminiPart struct {
	Text, Thought json.RawMessage
	Call          *struct{ Name string }              `json:"functionCall"`
	Response      *struct{ Response json.RawMessage } `json:"functionResponse"`
	Data          *struct{}                           `json:"inlineData"`
}

func readContents(body []byte) (chat, error) {
	var r struct {
		Contents []struct {
			Role  string
			Parts []geminiPart
		}
		Tools []struct {
			Functions []struct{ Name string } `json:"functionDeclarations"`
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return chat{}, err
	}
	c := contents{chat: chat{Model: "gemini"}}
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			c.offer(f.Name)
		}
	}
	for _, content := range r.Contents {
		var parts []part
		for _, p := range content.Parts {
			parts = append(parts, c.add(content.Role, p)...)
		}
		c.prompt(parts)
	}
	return c.chat, nil
}

// contents is a chat whose calls and results are counted, because they have no ids.
type contents struct {
	chat

	calls, results int
}

// add adds a part of a message, or returns it if it is of the user.
func (c *contents) add(role string, p geminiPart) []part {
	var text string
	_ = json.Unmarshal(p.Text, &text) // other parts have none
	switch {
	case p.Call != nil:
		c.called(fmt.Sprintf("demo_%d", c.calls))
		c.calls++
	case p.Response != nil:
		result := string(p.Response.Response)
		if _, reason, failed := strings.Cut(result, "with response: "); failed { // the model quotes only the beginning
			result = reason
		}
		c.Messages = append(c.Messages, chatMessage{Role: "tool", CallID: fmt.Sprintf("demo_%d", c.results), Content: result})
		c.results++
	case p.Data != nil:
		return []part{{Type: "image_url", Image: object{"url": "data:"}}}
	case string(p.Thought) == "true" || strings.HasPrefix(text, "<session_context>") || text == "":
	case role == "model":
		c.Messages = append(c.Messages, chatMessage{Role: "assistant", Content: text})
	default:
		return []part{{Type: "text", Text: text}}
	}
	return nil
}

type geminiEncoder struct{ w io.Writer }

func (e geminiEncoder) send(reason string, parts ...object) {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if reason != "" {
		candidate["finishReason"] = reason
	}
	sse(e.w, "", object{"candidates": []object{candidate}, "usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}})
}

func (e geminiEncoder) thought(text string) { e.send("", object{"text": text, "thought": true}) }

func (e geminiEncoder) text(text string) { e.send("", object{"text": text}) }

func (e geminiEncoder) call(_, name string, arguments map[string]any) {
	e.send("", object{"functionCall": object{"name": name, "args": arguments}})
}

func (e geminiEncoder) end(bool) { e.send("STOP", object{"text": ""}) }
