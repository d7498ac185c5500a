package ws_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/jobs/operation"
)

// startInside starts an operation without a request.
func (s *site) startInside() string {
	s.tb.Helper()
	o, err := s.work.Start(context.Background(), operation.Request{Type: operation.Prompt, Prompt: "Do it."})
	require.NoError(s.tb, err)
	return o.Info().ID
}

func TestOperationIsStartedReadAndCancelled(t *testing.T) {
	virtually(t, nil, func(s *site) {
		r := s.ask("POST", "/api/v1/operations", `{"type": "prompt", "prompt": "Do it.", "feature": "a"}`, "X-Forwarded-Proto", "https")
		require.Equal(t, http.StatusAccepted, r.status, r.text)
		body := r.json(t)
		id, _ := body["operation_id"].(string)
		require.NoError(t, uuid.Validate(id))
		assert.Equal(t, "running", body["status"])
		assert.NotEmpty(t, body["message"])
		assert.Equal(t, "wss://"+s.address+"/ws?operation_id="+id, body["websocket_url"])
		assert.EqualValues(t, 60, body["estimated_duration_seconds"])
		s.actions <- say("One.")
		s.actions <- say("Two.")
		synctest.Wait()

		s.ask("POST", "/operations", `{"type": "prompt", "prompt": "Do it.", "feature": "a"}`).fails(t, 409, "ALREADY_RUNNING")
		body = s.ask("GET", "/operations/"+id, "").json(t)
		for key, want := range map[string]any{
			"operation_id": id, "type": "prompt", "feature": "a", "status": "running", "messages": 2.0, "result": nil, "error": nil, "completed_at": nil,
		} {
			assert.Equal(t, want, body[key], key)
			assert.Contains(t, body, key)
		}
		assert.NotEmpty(t, body["copilot_session_id"])
		assert.NotEmpty(t, body["working_directory"])
		found := s.messages(id, "?after=0", "running")
		require.Len(t, found, 1)
		assert.Equal(t, "Two.", found[0].Content)
		assert.Len(t, s.messages(id, "", "running"), 2)
		assert.Empty(t, s.messages(id, "?after=7", "running"))
		assert.Empty(t, s.messages(id, "?after=9223372036854775807", "running"), "the largest number")

		for range 2 {
			body = s.ask("POST", "/operations/"+id+"/cancel", "").json(t)
			assert.Equal(t, map[string]any{"operation_id": id, "status": "cancelled"}, body)
		}
		all := s.messages(id, "", "cancelled")
		assert.Equal(t, "complete", all[len(all)-1].Type)
		body = s.ask("GET", "/operations/"+id, "").json(t)
		assert.NotNil(t, body["completed_at"])
		assert.Empty(t, s.messages(id, "?after=900", "cancelled"))
	})
}

// messages requests the messages of an operation and checks its status.
func (s *site) messages(id, query, status string) (all []message) {
	s.tb.Helper()
	r := s.ask("GET", "/operations/"+id+"/messages"+query, "")
	require.Equal(s.tb, http.StatusOK, r.status, r.text)
	var body struct {
		Messages []json.RawMessage
		Status   string
	}
	require.NoError(s.tb, json.Unmarshal([]byte(r.text), &body))
	assert.Equal(s.tb, status, body.Status)
	assert.NotNil(s.tb, body.Messages)
	for _, text := range body.Messages {
		all = append(all, read(s.tb, text))
	}
	return all
}

func TestSpecificationOfFeatureIsClarified(t *testing.T) {
	asked := make(chan string, 1)
	reports := func(turn *fake.Turn) {
		asked <- turn.Prompt
		turn.UseTool("report_questions", `{"questions": [{"question": "How fast?", "context": "It matters.", "options": ["1 s", "10 s"]}]}`)
	}
	var project string
	virtually(t, func(set *settings) { set.script, project = reports, set.operation.Directory }, func(s *site) {
		for _, invalid := range []string{"a%2Fb", "a%252Db", "100%25"} {
			s.ask("POST", "/features/"+invalid+"/clarify", "").fails(t, 400, "INVALID_REQUEST")
		}
		s.ask("POST", "/features/a/plan", "").fails(t, 404, "NOT_FOUND")
		require.NoError(t, os.MkdirAll(filepath.Join(project, "specs/a-b"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(project, "specs/a-b/spec.md"), []byte("Be fast."), 0o600))
		r := s.ask("POST", "/api/v1/features/a%2Db/clarify", `{"persist": {"path": "out/result.json"}}`)
		require.Equal(t, http.StatusAccepted, r.status, r.text)
		id, _ := r.json(t)["operation_id"].(string)
		synctest.Wait()
		assert.Contains(t, <-asked, "Be fast.")
		body := s.ask("GET", "/operations/"+id, "").json(t)
		assert.Equal(t, []any{"completed", "a-b", "clarify", 100.0}, []any{body["status"], body["feature"], body["type"], body["progress"]})
		result, _ := body["result"].(map[string]any)
		assert.Len(t, result["questions"], 1)
		_, err := os.Stat(filepath.Join(project, "out/result.json"))
		require.NoError(t, err)
	})
}

func TestOperationsAreListedNewestFirstWithoutResults(t *testing.T) {
	virtually(t, nil, func(s *site) {
		assert.JSONEq(t, `{"operations": []}`, s.ask("GET", "/operations", "").text)
		for range 3 {
			s.startInside()
		}
		synctest.Wait()
		body := s.ask("GET", "/operations?limit=2", "").json(t)
		list, _ := body["operations"].([]any)
		require.Len(t, list, 2)
		first, _ := list[0].(map[string]any)
		assert.NotContains(t, first, "result")
		assert.Equal(t, "running", first["status"])
	})
}

func TestInvalidRequestsAreRejected(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startInside()
		for name, c := range map[string]struct {
			method, path, body string
			status             int
			code               string
		}{
			"not JSON":                 {"POST", "/operations", "{", 400, "INVALID_REQUEST"},
			"a wrong type of JSON":     {"POST", "/operations", `{"type": 5}`, 400, "INVALID_REQUEST"},
			"nothing":                  {"POST", "/operations", "", 400, "INVALID_REQUEST"},
			"an unknown type":          {"POST", "/operations", `{"type": "x"}`, 400, "INVALID_REQUEST"},
			"a document of 1 MB":       {"POST", "/operations", `{"type": "clarify", "document": "` + strings.Repeat("x", 1<<20+1) + `"}`, 400, "INVALID_REQUEST"},
			"a relative directory":     {"POST", "/operations", `{"type": "prompt", "prompt": "x", "working_directory": "x"}`, 400, "INVALID_REQUEST"},
			"persisting outside":       {"POST", "/operations", `{"type": "prompt", "prompt": "x", "persist": {"path": "../x"}}`, 400, "INVALID_REQUEST"},
			"no such document":         {"POST", "/operations", `{"type": "clarify", "path": "nothing.md"}`, 404, "NOT_FOUND"},
			"no such operation":        {"GET", "/operations/x", "", 404, "NOT_FOUND"},
			"messages of no operation": {"GET", "/operations/x/messages", "", 404, "NOT_FOUND"},
			"cancel no operation":      {"POST", "/operations/x/cancel", "", 404, "NOT_FOUND"},
			"messages after a word":    {"GET", "/operations/" + id + "/messages?after=x", "", 400, "INVALID_REQUEST"},
			"messages after -2":        {"GET", "/operations/" + id + "/messages?after=-2", "", 400, "INVALID_REQUEST"},
			"a list of nothing":        {"GET", "/operations?limit=0", "", 400, "INVALID_REQUEST"},
			"a list without a limit":   {"GET", "/operations?limit=", "", 400, "INVALID_REQUEST"},
		} {
			t.Log(name)
			s.ask(c.method, c.path, c.body).fails(t, c.status, c.code)
			s.ask(c.method, c.path, "", "X-Session-ID", "x").fails(t, 401, "INVALID_SESSION")
		}
	})
}

func TestLargeBodyIsRefused(t *testing.T) {
	s := really(t, nil)
	s.ask("POST", "/operations", strings.Repeat(" ", 8<<20+1)).fails(t, 400, "INVALID_REQUEST")
}

func TestAllMessagesAreReturnedAtOnce(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(600)
		contiguous(t, s.messages(id, "", "running"), 0, 599)
		contiguous(t, s.messages(id, "?after=99", "running"), 100, 599)
		close(s.actions)
		synctest.Wait()
		contiguous(t, s.messages(id, "?after=-1", "completed"), 0, 600)
	})
}

func TestTimesOfOperationsHaveThreeFractionalDigits(t *testing.T) {
	virtually(t, nil, func(s *site) {
		for _, want := range []string{"2000-01-01T00:00:00.000Z", "2000-01-01T00:00:00.020Z"} {
			id := s.start()
			s.actions <- say("One.")
			synctest.Wait()
			body := s.ask("GET", "/operations/"+id, "").json(t)
			assert.Equal(t, want, body["created_at"])
			assert.Contains(t, s.ask("GET", "/operations/"+id+"/messages", "").text, `"timestamp":"`+want+`"`)
			assert.Equal(t, strings.Replace(want, "01-01", "01-02", 1), s.ask("POST", "/auth/verify", "").json(t)["expires_at"])
			assert.Equal(t, want, s.ask("GET", "/operations/x", "").json(t)["timestamp"], "of an error")
			require.Equal(t, http.StatusOK, s.ask("POST", "/operations/"+id+"/cancel", "").status)
			assert.Equal(t, want, s.ask("GET", "/operations/"+id, "").json(t)["completed_at"])
			time.Sleep(20 * time.Millisecond)
		}
	})
}
