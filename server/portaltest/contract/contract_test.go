package contract_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/contract"
)

func document(t *testing.T) *contract.Contract {
	t.Helper()
	text, err := os.ReadFile("../../../spec/openapi.yaml")
	require.NoError(t, err)
	c, err := contract.Parse(text)
	require.NoError(t, err)
	return c
}

const jsonType = "application/json; charset=utf-8"

func TestViolationsAreCaught(t *testing.T) {
	c := document(t)
	for name, tc := range map[string]struct {
		method, path, request string
		status                int
		kind, response        string
		fault                 string // part of the error; "" for none
	}{
		"a valid response":                 {"GET", "/api/config", "", 200, jsonType, `{"repoRoot":"/"}`, ""},
		"an additional member":             {"GET", "/api/config", "", 200, jsonType, `{"repoRoot":"/","more":1}`, "'more' not allowed"},
		"a missing member":                 {"GET", "/api/config", "", 200, jsonType, `{}`, "missing property 'repoRoot'"},
		"a wrong type":                     {"GET", "/api/config", "", 200, jsonType, `{"repoRoot":null}`, "GET /api/config, status 200: the response"},
		"no JSON":                          {"GET", "/api/config", "", 200, jsonType, `{`, "unexpected EOF"},
		"another media type":               {"GET", "/api/config", "", 200, "text/html", `{"repoRoot":"/"}`, `media type "text/html"`},
		"another status":                   {"GET", "/api/config", "", 418, jsonType, `{"error":"x"}`, "status is not described"},
		"a body where there is none":       {"POST", "/s/x/open", "", 204, jsonType, `{}`, "media type"},
		"an error of the guard":            {"GET", "/api/config", "", 403, jsonType, `{"error":"no"}`, ""},
		"an unknown callback":              {"GET", "/api/copilot/session/x/live", "", 200, jsonType, `{"callback":"onDance"}`, "onDance"},
		"an error with a name":             {"GET", "/api/copilot/session/x/live", "", 200, jsonType, `{"error":"HttpRequestTimeout"}`, ""},
		"the name of another error":        {"GET", "/api/copilot/session/x/live", "", 200, jsonType, `{"error":"SessionClosed"}`, "SessionClosed"},
		"a time that is none":              {"GET", "/operations/x/messages", "", 200, jsonType, message("now"), "date-time"},
		"a message":                        {"GET", "/api/v1/operations/x/messages?after=-1", "", 200, jsonType, message("2026-02-18T14:23:55.800Z"), ""},
		"an additional query":              {"GET", "/api/v1/operations/x/messages?more=1", "", 200, jsonType, message("2026-02-18T14:23:55.800Z"), `parameter "more"`},
		"a request that should be refused": {"POST", "/api/copilot/session/x/update", `{"pinned":1}`, 200, jsonType, `{}`, "the request"},
		"a request that was refused":       {"POST", "/api/copilot/session/x/update", `{"pinned":1}`, 400, jsonType, `{"error":"no"}`, ""},
		"a request to an unknown session":  {"POST", "/api/copilot/session/x/update", `{"pinned":1}`, 200, jsonType, `{"error":"SessionNotFound"}`, ""},
		"a path that is not described":     {"GET", "/ui", "", 200, "", "x", ""},
		"an exchange of a token":           {"GET", "/api/config?token=x", "", 303, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.Check(contract.Exchange{Method: tc.method, Path: tc.path, Request: tc.request, Status: tc.status, Type: tc.kind, Response: tc.response})
			if tc.fault == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tc.fault)
			}
		})
	}
}

func message(time string) string {
	return `{"status":"running","messages":[{"id":"6b3f0c3a-8f0b-4d7b-9f0e-4d9c7a5e1c11","operation_id":"6b3f0c3a-8f0b-4d7b-9f0e-4d9c7a5e1c11",` +
		`"sequence":0,"type":"thinking","content":"a","timestamp":"` + time + `","sender":"copilot"}]}`
}

func TestEventsOfEveryTypeFitTheirSchema(t *testing.T) {
	c := document(t)
	text, err := os.ReadFile("../../../copilot/event/testdata/events.jsonl")
	require.NoError(t, err)
	history := func(event string) error {
		return c.Check(contract.Exchange{
			Method: "GET", Path: "/api/copilot/session/x/history", Status: 200, Type: jsonType, Response: `{"events":[{"n":1,` + event[1:] + `],"last":1}`,
		})
	}
	for event := range strings.Lines(string(text)) {
		event = strings.TrimSpace(event)
		require.NoError(t, history(event))
		require.Error(t, history(strings.TrimSuffix(event, "}")+`,"more":1}`), event)
		if strings.HasSuffix(event, "}}") {
			require.Error(t, history(strings.TrimSuffix(event, "}}")+`,"more":1}}`), "openapi.yaml does not describe the body: %s", event)
		}
	}
}
