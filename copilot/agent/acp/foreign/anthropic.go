package foreign

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"regexp"
	"strings"
)

// anthropic is the Messages API, which Claude Code uses.
func anthropic() dialect {
	return dialect{
		path: "/v1/messages", read: readMessages,
		write: func(w io.Writer, model string) encoder {
			sse(w, "message_start", object{"type": "message_start", "message": object{
				"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "model": model, "content": []any{}, "usage": object{"input_tokens": 100, "output_tokens": 1},
			}})
			return &messageEncoder{w: w, index: -1}
		},
		tools: map[string]tool{
			"bash":   {"Bash", renamed("command", "command", "description", "description")},
			"create": {"Write", renamed("path", "file_path", "file_text", "content")},
			"edit":   {"Edit", renamed("path", "file_path", "old_str", "old_string", "new_str", "new_string")},
			"view":   {"Read", renamed("path", "file_path")},
		},
	}
}

type object = map[string]any

// ownText matches what Claude Code adds to the messages of the user.
var ownText = regexp.MustCompile(`(?s)<(system-reminder|local-command-\w+|command-\w+)>.*?</(system-reminder|local-command-\w+|command-\w+)>|` +
	`\[Request interrupted by user[^\]]*\]`)

// attachment matches what belongs to the prompt before it.
var attachment = regexp.MustCompile(`^(\n\n|\[@|<)`)

type messageBlock struct {
	Type, Text, ID string
	UseID          string `json:"tool_use_id"`
	Content        json.RawMessage
}

func readMessages(body []byte) (chat, error) {
	var r struct {
		Model    string
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct{ Name string }
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return chat{}, err
	}
	c := chat{Model: r.Model}
	for _, t := range r.Tools {
		c.offer(t.Name)
	}
	for _, m := range r.Messages {
		blocks := []messageBlock{}
		if json.Unmarshal(m.Content, &blocks) != nil {
			blocks = []messageBlock{{Type: "text"}}
			if err := json.Unmarshal(m.Content, &blocks[0].Text); err != nil {
				return chat{}, err
			}
		}
		if m.Role != "system" {
			c.addBlocks(m.Role, blocks)
		}
	}
	return c, nil
}

// addBlocks adds the blocks of a message.
func (c *chat) addBlocks(role string, blocks []messageBlock) {
	var parts []part
	for _, b := range blocks {
		text := strings.TrimSpace(ownText.ReplaceAllString(b.Text, ""))
		switch {
		case b.Type == "tool_use":
			c.called(b.ID)
		case b.Type == "tool_result":
			c.Messages = append(c.Messages, chatMessage{Role: "tool", CallID: b.UseID, Content: resultText(b.Content)})
		case b.Type == "image":
			parts = append(parts, part{Type: "image_url", Image: object{"url": "data:"}})
		case role == "assistant" && text != "":
			c.Messages = append(c.Messages, chatMessage{Role: role, Content: text})
		case text != "":
			if !attachment.MatchString(b.Text) { // after an error, prompts are in one message
				c.prompt(parts)
				parts = nil
			}
			parts = append(parts, part{Type: "text", Text: text})
		}
	}
	c.prompt(parts)
}

// resultText returns the text of a result, which is a string or blocks.
func resultText(raw json.RawMessage) string {
	var text string
	var blocks []messageBlock
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &blocks) == nil {
		for _, b := range blocks {
			text += b.Text
		}
	}
	return text
}

// messageEncoder writes a message block by block.
type messageEncoder struct {
	w     io.Writer
	kind  string // of the open block
	index int
}

// open opens a block of a kind, unless it is open.
func (e *messageEncoder) open(kind string, block object) {
	if e.kind == kind {
		return
	}
	e.close()
	e.kind = kind
	e.index++
	block["type"] = kind
	sse(e.w, "content_block_start", object{"type": "content_block_start", "index": e.index, "content_block": block})
}

func (e *messageEncoder) delta(d object) {
	sse(e.w, "content_block_delta", object{"type": "content_block_delta", "index": e.index, "delta": d})
}

func (e *messageEncoder) close() {
	if e.kind == "thinking" {
		e.delta(object{"type": "signature_delta", "signature": "demo"})
	}
	if e.kind != "" {
		sse(e.w, "content_block_stop", object{"type": "content_block_stop", "index": e.index})
	}
	e.kind = ""
}

func (e *messageEncoder) thought(text string) {
	e.open("thinking", object{"thinking": "", "signature": ""})
	e.delta(object{"type": "thinking_delta", "thinking": text})
}

func (e *messageEncoder) text(text string) {
	e.open("text", object{"text": ""})
	e.delta(object{"type": "text_delta", "text": text})
}

func (e *messageEncoder) call(id, name string, arguments map[string]any) {
	e.open("tool_use", object{"id": id, "name": name, "input": object{}})
	b, _ := json.Marshal(arguments) // it was JSON before
	e.delta(object{"type": "input_json_delta", "partial_json": string(b)})
}

func (e *messageEncoder) end(calls bool) {
	e.close()
	reason := "end_turn"
	if calls {
		reason = "tool_use"
	}
	sse(e.w, "message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason}, "usage": object{"output_tokens": 10}})
	sse(e.w, "message_stop", object{"type": "message_stop"})
}
