package sdk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/copilot-portal/portal/copilot/demo"
)

// call is a tool call of the model.
type call struct{ tool, arguments string }

func shell(command string) call {
	arguments, err := json.Marshal(map[string]string{"command": command, "description": command})
	if err != nil {
		panic(err)
	}
	return call{"bash", string(arguments)}
}

// several returns a model that answers `call all` with several calls at once, which the scripted model never does. Its
// next answer quotes their results. It passes all other prompts to the scripted model.
func several(key string, calls ...call) http.Handler {
	scripted := demo.NewHandler(key)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request struct {
			Messages []struct {
				Role    string
				Content any
			}
		}
		_ = json.Unmarshal(body, &request) // invalid requests are passed on
		prompt, results := "", []string{}
		for _, m := range request.Messages {
			switch m.Role {
			case "user":
				prompt, results = fmt.Sprint(m.Content), nil
			case "tool":
				results = append(results, fmt.Sprint(m.Content))
			}
		}
		switch {
		case !strings.Contains(prompt, "call all"):
			r.Body = io.NopCloser(bytes.NewReader(body))
			scripted.ServeHTTP(w, r)
		case len(results) == 0:
			stream(w, map[string]any{"role": "assistant", "tool_calls": listed(calls)}, "tool_calls")
		default:
			stream(w, map[string]any{"role": "assistant", "content": strings.Join(results, "; ")}, "stop")
		}
	})
}

func listed(calls []call) []any {
	list := make([]any, len(calls))
	for i, c := range calls {
		list[i] = map[string]any{
			"index": i, "id": fmt.Sprintf("call-%d", i), "type": "function",
			"function": map[string]any{"name": c.tool, "arguments": c.arguments},
		}
	}
	return list
}

// stream sends an answer in one piece.
func stream(w http.ResponseWriter, delta map[string]any, reason string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []any{
		map[string]any{"index": 0, "delta": delta},
		map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason},
	} {
		b, err := json.Marshal(map[string]any{"id": "x", "object": "chat.completion.chunk", "model": demo.ModelID, "choices": []any{choice}})
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
