package foreign

import (
	"encoding/json"
	"io"
	"strings"
)

// responses is the Responses API, which Codex uses.
func responses() dialect {
	return dialect{
		path: "/v1/responses", read: readItems,
		write: func(w io.Writer, _ string) encoder {
			e := &itemEncoder{w: w}
			e.send("response.created", object{"response": object{"id": "resp_demo", "status": "in_progress", "output": []any{}}})
			return e
		},
		tools: map[string]tool{
			"bash": {"exec_command", func(a map[string]any) map[string]any {
				return object{"cmd": a["command"], "sandbox_permissions": "require_escalated", "justification": a["description"]}
			}},
			"create": {"exec_command", func(a map[string]any) map[string]any {
				content, _ := a["file_text"].(string)
				path, _ := a["path"].(string)
				return object{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: " + path + "\n+" +
					strings.ReplaceAll(strings.TrimSuffix(content, "\n"), "\n", "\n+") + "\n*** End Patch\nEOF"}
			}},
		},
	}
}

func readItems(body []byte) (chat, error) {
	var r struct {
		Model string
		Input []struct {
			Type, Role string
			CallID     string `json:"call_id"`
			Content    []itemContent
			Output     json.RawMessage
		}
		Tools []struct {
			Type, Name string
			Tools      []struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return chat{}, err
	}
	c := chat{Model: r.Model}
	for _, t := range r.Tools {
		c.offer(t.Name)
		for _, inner := range t.Tools {
			c.offer(t.Name + "." + inner.Name)
		}
	}
	for _, item := range r.Input {
		switch {
		case item.Type == "function_call":
			c.called(item.CallID)
		case item.Type == "function_call_output":
			c.Messages = append(c.Messages, chatMessage{Role: "tool", CallID: item.CallID, Content: resultText(item.Output)})
		case item.Type == "message" && item.Role == "assistant":
			c.Messages = append(c.Messages, chatMessage{Role: "assistant", Content: item.Content[0].Text})
		case item.Type == "message" && item.Role == "user":
			c.prompt(itemParts(item.Content))
		}
	}
	return c, nil
}

type itemContent struct{ Type, Text string }

// itemParts returns the parts of a message of the user, without what Codex itself says.
func itemParts(content []itemContent) (parts []part) {
	for _, p := range content {
		switch {
		case p.Type == "input_image":
			parts = append(parts, part{Type: "image_url", Image: object{"url": "data:"}})
		case !strings.HasPrefix(p.Text, "<environment_context>") && !strings.HasPrefix(p.Text, "<turn_aborted>"):
			parts = append(parts, part{Type: "text", Text: p.Text})
		}
	}
	return parts
}

// itemEncoder writes the items of a response.
type itemEncoder struct {
	w        io.Writer
	said     string
	thoughts string
}

func (e *itemEncoder) send(kind string, fields object) {
	fields["type"] = kind
	sse(e.w, kind, fields)
}

func (e *itemEncoder) thought(text string) {
	if e.thoughts == "" {
		e.send("response.output_item.added", object{"output_index": 0, "item": object{"type": "reasoning", "id": "rs_demo", "summary": []any{}}})
		e.send("response.reasoning_summary_part.added", object{"item_id": "rs_demo", "output_index": 0, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
	}
	e.thoughts += text
	e.send("response.reasoning_summary_text.delta", object{"item_id": "rs_demo", "output_index": 0, "summary_index": 0, "delta": text})
}

func (e *itemEncoder) endThoughts() {
	if e.thoughts != "" {
		e.send("response.output_item.done", object{"output_index": 0, "item": object{
			"type": "reasoning", "id": "rs_demo", "summary": []object{{"type": "summary_text", "text": e.thoughts}},
		}})
		e.thoughts = ""
	}
}

func (e *itemEncoder) text(text string) {
	e.endThoughts()
	if e.said == "" {
		e.send("response.output_item.added", object{"output_index": 1, "item": object{"type": "message", "id": "msg_demo", "role": "assistant", "content": []any{}}})
	}
	e.said += text
	e.send("response.output_text.delta", object{"item_id": "msg_demo", "output_index": 1, "content_index": 0, "delta": text})
}

func (e *itemEncoder) endText() {
	e.endThoughts()
	if e.said != "" {
		e.send("response.output_item.done", object{"output_index": 1, "item": object{
			"type": "message", "id": "msg_demo", "role": "assistant", "content": []object{{"type": "output_text", "text": e.said}},
		}})
		e.said = ""
	}
}

func (e *itemEncoder) call(id, name string, arguments map[string]any) {
	e.endText()
	b, _ := json.Marshal(arguments) // it was JSON before
	item := object{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": name, "arguments": string(b)}
	if space, inner, is := strings.Cut(name, "."); is {
		item["namespace"], item["name"] = space, inner
	}
	e.send("response.output_item.done", object{"output_index": 2, "item": item})
}

func (e *itemEncoder) end(bool) {
	e.endText()
	e.send("response.completed", object{"response": object{
		"id": "resp_demo", "status": "completed", "output": []any{}, "usage": object{"input_tokens": 100, "output_tokens": 10, "total_tokens": 110},
	}})
}
