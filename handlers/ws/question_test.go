package ws_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// makes returns a question whether a program may run.
func makes() event.Question {
	q := event.Question{Title: "Run a command: make"}
	q.SetNeeds(permission.ShellNeeds("ls -l")...)
	return q
}

// Under the policy "ask" an operation waits for a permission, and the session id that started it may answer.
func TestClientOfAnOperationAnswersItsQuestions(t *testing.T) {
	answers := make(chan event.Answer, 3)
	asks := func(turn *fake.Turn) {
		for _, q := range []event.Question{
			makes(),
			{Names: []string{permission.Exec}, Title: "Run a command: rm"},
			{Kind: event.AskInput, Text: "Which?", Freeform: true},
		} {
			a, _ := turn.AskAlways(q)
			answers <- a
		}
	}
	virtually(t, func(set *settings) {
		set.script, set.operation.Policy = asks, permission.Policy{permission.Exec: permission.Ask}
	}, func(s *site) {
		id := s.start()
		request := func(n int) string {
			synctest.Wait()
			all := s.messages(id, "", "running")
			require.Len(t, all, n)
			request, _ := all[n-1].Metadata["request_id"].(string)
			require.NotEmpty(t, request)
			return "/operations/" + id + "/answer/" + request
		}
		first := request(1)
		metadata := s.messages(id, "", "running")[0].Metadata
		assert.Contains(t, fmt.Sprint(metadata["scopes"]), "kind:command", "the scopes are offered")
		another := s.visit()
		s.ask("POST", first, `{"approved": true}`, "X-Session-ID", another).fails(t, http.StatusForbidden, "DENIED")
		s.ask("POST", first, `{"approved": true, "remember": true, "scope": "world"}`).fails(t, http.StatusBadRequest, "INVALID_REQUEST")
		s.ask("POST", first, `{"approved": true}`, "X-Session-ID", s.visitWith(`["operations:read"]`)).fails(t, http.StatusForbidden, "DENIED")
		s.ask("POST", first, `{"approved": true}`, "X-Session-ID", "x").fails(t, http.StatusUnauthorized, "INVALID_SESSION")
		s.ask("POST", first, `{}`).fails(t, http.StatusBadRequest, "INVALID_REQUEST")
		s.ask("POST", first, `{"aproved": true}`).fails(t, http.StatusBadRequest, "INVALID_REQUEST")
		s.ask("POST", "/operations/"+id+"/answer/nothing", `{"approved": true}`).fails(t, http.StatusNotFound, "NOT_FOUND")
		r := s.ask("POST", first, `{"approved": true, "remember": true, "scope": "program"}`)
		require.Equal(t, http.StatusOK, r.status, r.text)
		assert.Equal(t, event.Answer{Approved: true, Remember: true, Scope: permission.ScopeProgram}, <-answers)
		s.ask("POST", first, `{"approved": true}`).fails(t, http.StatusConflict, "ALREADY_ANSWERED")

		require.Equal(t, http.StatusOK, s.ask("POST", "/api/v1"+request(3), `{"approved": false, "reason": "no"}`, "X-Session-ID", "", "Authorization", "Bearer any").status, "the token answers, too")
		assert.Equal(t, event.Answer{Reason: "no"}, <-answers)
		require.Equal(t, http.StatusOK, s.ask("POST", request(5), `{"answer": "that"}`).status)
		assert.Equal(t, "that", (<-answers).Text)
		synctest.Wait()
		all := s.messages(id, "", "completed")
		require.Len(t, all, 7)
		for asked := 0; asked < 6; asked += 2 {
			assert.Equal(t, all[asked].Metadata["request_id"], all[asked+1].Metadata["closes_request_id"], "all clients learn that it is closed")
		}
	})
}

// Tool calls by which the model reports its results are not questions to users.
func TestClientCannotReportInPlaceOfTheModel(t *testing.T) {
	var request string
	calls := func(turn *fake.Turn) {
		request = turn.ID("question")
		turn.Emit(event.ToolStarted{ID: "c", Name: "other"})
		_, _ = turn.AskAlways(event.Question{ID: request, Kind: event.AskTool, Call: "c", Tool: "other"})
	}
	virtually(t, func(set *settings) { set.script = calls }, func(s *site) {
		id := s.start()
		synctest.Wait()
		s.ask("POST", "/operations/"+id+"/answer/"+request, `{"answer": "x"}`).fails(t, http.StatusNotFound, "NOT_FOUND")
	})
}
