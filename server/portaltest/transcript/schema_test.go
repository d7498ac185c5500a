package transcript_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/contract"
)

func schema(t *testing.T) *contract.Dialect {
	t.Helper()
	s, err := contract.UI()
	require.NoError(t, err)
	return s
}

func TestSchemaAcceptsValidMessagesOnly(t *testing.T) {
	s := schema(t)
	const meta = `"meta":{"session_id":"s","cursor":"c"}`
	for name, tc := range map[string]struct {
		message string
		fault   string // part of the error; "" for none
	}{
		"a request":                            {`{"jsonrpc":"2.0","id":"1","method":"session.list"}`, ""},
		"an unknown method":                    {`{"jsonrpc":"2.0","id":"1","method":"x","params":[1]}`, ""},
		"a request without its params":         {`{"jsonrpc":"2.0","id":"1","method":"run.start"}`, "params"},
		"additional params":                    {`{"jsonrpc":"2.0","id":"1","method":"run.cancel","params":{"run_id":"r","more":1}}`, ""},
		"a wrong version":                      {`{"jsonrpc":"1.0","id":"1","method":"x"}`, "jsonrpc"},
		"neither a request nor a response":     {`{"jsonrpc":"2.0","id":"1"}`, "oneOf"},
		"a request with a result":              {`{"jsonrpc":"2.0","id":"1","method":"x","result":1}`, "oneOf"},
		"a prompt of parts":                    {`{"jsonrpc":"2.0","id":"1","method":"run.start","params":{"input":{"type":"parts","parts":[{"type":"text","text":"a"}]}}}`, ""},
		"a part without its data":              {`{"jsonrpc":"2.0","id":"1","method":"run.start","params":{"input":{"type":"parts","parts":[{"type":"image"}]}}}`, "media_type"},
		"an update as a notification":          {`{"jsonrpc":"2.0","method":"ui.context.update","params":{"cwd":"/"}}`, ""},
		"a notification as a request":          {`{"jsonrpc":"2.0","id":"1","method":"run.status","params":{"run_id":"r","status":"running",` + meta + `}}`, "id"},
		"a status":                             {`{"jsonrpc":"2.0","method":"run.status","params":{"run_id":"r","status":"running",` + meta + `}}`, ""},
		"an unknown status":                    {`{"jsonrpc":"2.0","method":"run.status","params":{"run_id":"r","status":"walking",` + meta + `}}`, "status"},
		"additional members of a notification": {`{"jsonrpc":"2.0","method":"run.status","params":{"run_id":"r","status":"running","more":1,` + meta + `}}`, "more"},
		"an event":                             {event(`0`, `{"type":"final","content":"a"}`), ""},
		"an event of an unknown type":          {event(`0`, `{"type":"dance"}`), "type"},
		"an event with additional members":     {event(`0`, `{"type":"final","content":"a","more":1}`), "more"},
		"an event without its number":          {event(`-1`, `{"type":"final","content":"a"}`), "seq"},
		"an event between runs":                {strings.Replace(event(`-1`, `{"type":"compaction_complete","timestamp":1,"compacted":true}`), `"r"`, `""`, 1), ""},
		"a retracted text":                     {event(`-1`, `{"type":"text","content":"","timestamp":1}`), ""},
		"an event without a number":            {event(`-1`, `{"type":"hidden_user_message","content":"a"}`), ""},
		"the first form of usage":              {event(`0`, `{"type":"usage","used":1,"limit":2,"multiplier":1}`), ""},
		"no form of usage":                     {event(`0`, `{"type":"usage","used":1,"model":"m"}`), "oneOf"},
		"an error without a readable id":       {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			message, err := jsonschema.UnmarshalJSON(strings.NewReader(tc.message))
			require.NoError(t, err)
			if tc.fault == "" {
				assert.NoError(t, s.Check(message, ""))
			} else {
				assert.ErrorContains(t, s.Check(message, ""), tc.fault)
			}
		})
	}
}

func event(seq, event string) string {
	return `{"jsonrpc":"2.0","method":"agent.event","params":{"run_id":"r","seq":` + seq + `,"event":` + event + `,"meta":{"session_id":"s","cursor":"c"}}}`
}

func TestResultIsValidatedForItsMethod(t *testing.T) {
	s := schema(t)
	result := map[string]any{"jsonrpc": "2.0", "id": "1", "result": map[string]any{"ok": true, "status": "running"}}
	require.NoError(t, s.Check(result, "run.cancel"))
	require.ErrorContains(t, s.Check(result, "run.start"), "run_id")
	require.ErrorContains(t, s.Check(result, ""), "no result", "there was no request")
}
