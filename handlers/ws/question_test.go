package ws_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

// Under the policy "ask" an operation waits for a permission, which its client gives with the session id that it has started it with.
func TestTheClientOfAnOperationAnswersItsQuestions(t *testing.T) {
	answers := make(chan copilot.Answer, 3)
	asks := func(turn *copilottest.Turn) {
		for _, q := range []copilot.Question{
			{Names: []string{copilot.PermExec}, Title: "Run a command: make"},
			{Names: []string{copilot.PermExec}, Title: "Run a command: rm"},
			{Kind: copilot.AskInput, Text: "Which?", Freeform: true},
		} {
			a, _ := turn.Raise(q)
			answers <- a
		}
	}
	virtually(t, func(set *settings) {
		set.script, set.operation.Policy = asks, copilot.Policy{copilot.PermExec: copilot.Ask}
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
		s.ask("POST", first, `{"approved": true}`, "X-Session-ID", s.visitWith(`["operations:read"]`)).fails(t, http.StatusForbidden, "DENIED")
		s.ask("POST", first, `{"approved": true}`, "X-Session-ID", "x").fails(t, http.StatusUnauthorized, "INVALID_SESSION")
		s.ask("POST", first, `{}`).fails(t, http.StatusBadRequest, "INVALID_REQUEST")
		s.ask("POST", first, `{"aproved": true}`).fails(t, http.StatusBadRequest, "INVALID_REQUEST")
		s.ask("POST", "/operations/"+id+"/answer/nothing", `{"approved": true}`).fails(t, http.StatusNotFound, "NOT_FOUND")
		r := s.ask("POST", first, `{"approved": true}`)
		require.Equal(t, http.StatusOK, r.status, r.text)
		assert.True(t, (<-answers).Approved)
		s.ask("POST", first, `{"approved": true}`).fails(t, http.StatusConflict, "ALREADY_ANSWERED")

		require.Equal(t, http.StatusOK, s.ask("POST", "/api/v1"+request(2), `{"approved": false, "reason": "no"}`).status)
		assert.Equal(t, copilot.Answer{Reason: "no"}, <-answers)
		require.Equal(t, http.StatusOK, s.ask("POST", request(3), `{"answer": "that"}`).status)
		assert.Equal(t, "that", (<-answers).Text)
		synctest.Wait()
		assert.Len(t, s.messages(id, "", "completed"), 4)
	})
}

// The calls by which the model reports are no questions to people.
func TestAClientCannotReportInPlaceOfTheModel(t *testing.T) {
	var request string
	calls := func(turn *copilottest.Turn) {
		request = turn.ID("question")
		turn.Emit(copilot.ToolStarted{ID: "c", Name: "other"})
		_, _ = turn.Raise(copilot.Question{ID: request, Kind: copilot.AskTool, Call: "c", Tool: "other"})
	}
	virtually(t, func(set *settings) { set.script = calls }, func(s *site) {
		id := s.start()
		synctest.Wait()
		s.ask("POST", "/operations/"+id+"/answer/"+request, `{"answer": "x"}`).fails(t, http.StatusNotFound, "NOT_FOUND")
	})
}
