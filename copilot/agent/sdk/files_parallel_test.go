package sdk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
)

// change is an edit of a model.
type change struct{ before, after string }

// editingModel is a model that makes all its edits of a file in one answer, and the last one, which alone can fail, again if it did
// not match.
func editingModel(t *testing.T, file *atomic.Value, edits ...change) sdk.Provider {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Role, Content any }
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		last := request.Messages[len(request.Messages)-1]
		delta, end := `{"role": "assistant", "content": "done"}`, "stop"
		switch {
		case last.Role != "tool":
			delta, end = calls(file.Load(), edits), "tool_calls"
		case strings.Contains(fmt.Sprint(last.Content), "not found"):
			delta, end = calls(file.Load(), edits[len(edits)-1:]), "tool_calls"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
		fmt.Fprintf(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", end)
	}))
	t.Cleanup(s.Close)
	return sdk.Provider{Name: "editing", Type: "openai", BaseURL: s.URL + "/v1", APIKey: "key", Models: []string{"model"}}
}

func calls(file any, edits []change) string {
	list := make([]string, 0, len(edits))
	for i, e := range edits {
		args, _ := json.Marshal(map[string]any{"path": file, "old_str": e.before, "new_str": e.after})
		quoted, _ := json.Marshal(string(args))
		list = append(list, fmt.Sprintf(`{"index": %d, "id": %q, "type": "function", "function": {"name": "edit", "arguments": %s}}`, i, uuid.NewString(), quoted))
	}
	return `{"role": "assistant", "tool_calls": [` + strings.Join(list, ",") + `]}`
}

// editAtOnce opens a file with unsaved changes, of which the model makes edits in one answer. Those that approve does not name are
// refused.
func editAtOnce(t *testing.T, a agent.Agent, file *atomic.Value, approve ...string) *editing {
	t.Helper()
	e := &editing{}
	e.talk = open(t, a, func(o *agent.Opening) { o.Model, o.Buffer = "editing/model", e.read })
	e.begin(saved)
	e.has(typed)
	file.Store(e.file)
	e.send("go")
	for {
		b, ok := e.next(late)
		require.True(t, ok)
		switch b := b.(type) {
		case event.QuestionAsked:
			approved := false
			for _, word := range approve {
				approved = approved || strings.Contains(b.Question.Detail, "+"+word)
			}
			e.answer(b.Question, event.Answer{Approved: approved})
		case event.Idle:
			return e
		}
	}
}

func TestEditsAtOnceKeepUnsavedChanges(t *testing.T) {
	var file atomic.Value // that the model edits
	o := options(t)
	o.Demo, o.DemoAlways = nil, false
	o.Providers = []sdk.Provider{editingModel(t, &file, change{"two", "TWO"}, change{"four", "FOUR"})}
	a := launch(t, sdk.New(o))
	t.Run("both approved", func(t *testing.T) {
		editAtOnce(t, a, &file, "TWO", "FOUR").both("zero\none\nTWO\nthree\nFOUR\n")
	})
	for refused, tc := range map[string]struct{ approve, want string }{
		"the last":  {"TWO", "zero\none\nTWO\nthree\nfour\n"},
		"the first": {"FOUR", "zero\none\ntwo\nthree\nFOUR\n"},
	} {
		t.Run(refused+" refused", func(t *testing.T) {
			e := editAtOnce(t, a, &file, tc.approve)
			require.Eventually(t, func() bool {
				disk, buffer := e.texts()
				return disk == tc.want && buffer == tc.want
			}, late, 10*time.Millisecond, "the buffer follows when the last call has ended")
		})
	}
	t.Run("all refused", func(t *testing.T) {
		e := editAtOnce(t, a, &file)
		disk, buffer := e.texts()
		assert.Equal(t, saved, disk)
		assert.Equal(t, typed, buffer)
	})
}
