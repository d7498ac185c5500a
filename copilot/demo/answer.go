package demo

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// An answer streams the output of the steps as server-sent events, or collects it into one document. It sends no header
// before the first event, so that a script can still fail with a status.
type answer struct {
	w       http.ResponseWriter
	request *request
	head    completion // of each event
	pieces  int

	reasoning, content strings.Builder
	call               toolCall // must be the last output
}

// A completion is a chunk of a streamed answer, or a whole answer.
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

type delta struct {
	Role      string     `json:"role,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Content   string     `json:"content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// emit adds one piece.
func (a *answer) emit(d delta) error {
	a.pieces++
	a.reasoning.WriteString(d.Reasoning)
	a.content.WriteString(d.Content)
	if !a.request.Stream {
		return nil
	}
	if a.pieces == 1 {
		d.Role = "assistant"
	}
	return a.choice(choice{Delta: &d})
}

// maxPiece is the size of the largest piece of an answer or of arguments, in characters.
const maxPiece = 1000

// word matches a word and the spaces after it. A limit in the expression would make it a thousand times as large.
var word = regexp.MustCompile(`[^ \n]*[ \n]+|[^ \n]+`)

// text adds a text word by word.
func (a *answer) text(s string) error {
	for _, w := range word.FindAllString(s, -1) {
		for part := range slices.Chunk([]rune(w), maxPiece) {
			if err := a.emit(delta{Content: string(part)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// callTool calls a tool as models do: first its name, then its arguments in pieces. The id is random, because the ids of a
// session must differ and a request need not have all its calls.
func (a *answer) callTool(name, arguments string) error {
	a.call = toolCall{ID: callPrefix + rand.Text(), Type: "function", Function: function{Name: name}}
	err := a.emit(delta{ToolCalls: []toolCall{a.call}})
	a.call.Function.Arguments = arguments
	for part := range slices.Chunk([]rune(arguments), maxPiece) {
		if err == nil {
			err = a.emit(delta{ToolCalls: []toolCall{{Function: function{Arguments: string(part)}}}})
		}
	}
	return err
}

// finish ends the answer.
func (a *answer) finish() error {
	const bytesPerToken = 4
	reason, spent := "stop", &usage{Prompt: a.request.size / bytesPerToken, Completion: a.pieces}
	spent.Total = spent.Prompt + spent.Completion
	whole := &delta{Role: "assistant", Reasoning: a.reasoning.String(), Content: a.content.String()}
	if a.call.ID != "" {
		reason, whole.ToolCalls = "tool_calls", []toolCall{a.call}
	}
	if !a.request.Stream {
		a.head.Object, a.head.Usage, a.head.Choices = "chat.completion", spent, []choice{{Message: whole, FinishReason: &reason}}
		return writeJSON(a.w, http.StatusOK, a.head)
	}
	err := a.choice(choice{Delta: &delta{}, FinishReason: &reason})
	if err == nil && a.request.StreamOptions.IncludeUsage {
		a.head.Choices, a.head.Usage = []choice{}, spent
		err = a.event(a.head)
	}
	if err == nil {
		err = a.write("[DONE]")
	}
	return err
}

// fail ends the answer with a status, or with an event if the status was sent.
func (a *answer) fail(f *failure) error {
	if a.request.Stream && a.pieces > 0 {
		return a.event(map[string]any{"error": f})
	}
	f.write(a.w)
	return nil
}

func (a *answer) choice(c choice) error {
	a.head.Choices = []choice{c}
	return a.event(a.head)
}

func (a *answer) event(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.write(string(b))
}

func (a *answer) write(data string) error {
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-store")
	if _, err := fmt.Fprintf(a.w, "data: %s\n\n", data); err != nil {
		return err
	}
	return http.NewResponseController(a.w).Flush()
}
