package contract_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// recorder is a test that records its failures.
type recorder struct {
	testing.TB

	faults []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// expect expects that the first failure contains a text, or none if it is "".
func (r *recorder) expect(t *testing.T, fault string) {
	t.Helper()
	if fault == "" {
		assert.Empty(t, r.faults)
		return
	}
	require.NotEmpty(t, r.faults)
	assert.Contains(t, r.faults[0], fault)
}

func TestViolationsInConversationsAreCaught(t *testing.T) {
	const (
		uiStatus = `< {"jsonrpc":"2.0","method":"run.status","params":{"run_id":"r","status":"running","meta":{"session_id":"s","cursor":"c"}}}`
		confirm  = `< {"jsonrpc":"2.0","id":"ui_1","method":"ui.confirm.request","params":{"title":"a","message":"b","confirm_label":"c","cancel_label":"d",` +
			`"danger_level":"normal","allow_remember":false,"allow_reason":true,"meta":{"session_id":"s","question_id":"q","kind":"permission"}}}`
		watch  = `> {"jsonrpc":"2.0","id":1,"method":"portal.session.detach","params":{"session_id":"s"}}`
		cancel = `> {"jsonrpc":"2.0","id":1,"method":"session.cancel","params":{"sessionId":"s"}}`
		event  = `< {"jsonrpc":"2.0","method":"session.event","params":{"sessionId":"s","id":"1-2","event":"done","data":{"messageId":"m","status":"completed"}}}`
	)
	for name, tc := range map[string]struct {
		path, frames string // ">" is sent, "<" received
		fault        string // part of the failure; "" for none
	}{
		"a notification":             {"/ui", uiStatus, ""},
		"an unknown notification":    {"/ui", `< {"jsonrpc":"2.0","method":"run.dance","params":{}}`, `"run.dance" is not described`},
		"a notification with more":   {"/ui", strings.Replace(uiStatus, `"r",`, `"r","more":1,`, 1), "'more' not allowed"},
		"a wrong status":             {"/ui", strings.Replace(uiStatus, "running", "walking", 1), "/params/status"},
		"a message with more":        {"/ui", strings.Replace(uiStatus, `"method"`, `"more":1,"method"`, 1), `the member "more"`},
		"no JSON":                    {"/ui", `< {`, "no JSON"},
		"a result of the page":       {"/ui", watch + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"detached":true}}`, ""},
		"a wrong result of the page": {"/ui", watch + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"detached":1}}`, "/detached"},
		"a wrong request":            {"/ui", strings.Replace(watch, `"s"`, "1", 1) + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"detached":true}}`, "succeeds with the params"},
		"a wrong request, refused":   {"/ui", strings.Replace(watch, `"s"`, "1", 1) + "\n" + `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`, ""},
		"a result without a request": {"/ui", `< {"jsonrpc":"2.0","id":1,"result":{}}`, "no result"},
		"an answer":                  {"/ui", confirm + "\n" + `> {"jsonrpc":"2.0","id":"ui_1","result":{"ok":true}}`, ""},
		"a wrong answer":             {"/ui", confirm + "\n" + `> {"jsonrpc":"2.0","id":"ui_1","result":{"ok":1}}`, "/ok"},
		"an error without a code":    {"/ui", watch + "\n" + `< {"jsonrpc":"2.0","id":1,"error":{"message":"no"}}`, "false schema"},

		"a result of /rpc":             {"/rpc", cancel + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"cancelled":true}}`, ""},
		"a result of /rpc with more":   {"/rpc", cancel + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"cancelled":true,"more":1}}`, "'more' not allowed"},
		"a wrong request of /rpc":      {"/rpc", strings.Replace(cancel, `"s"`, "1", 1) + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"cancelled":true}}`, "/sessionId"},
		"a parameter that is null":     {"/rpc", strings.Replace(cancel, `"s"`, `"s","messageId":null`, 1) + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"cancelled":true}}`, ""},
		"an error of /rpc":             {"/rpc", cancel + "\n" + `< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no","data":"no"}}`, ""},
		"an unknown code":              {"/rpc", cancel + "\n" + `< {"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"no"}}`, "does not have the error -32050"},
		"an error with more":           {"/rpc", cancel + "\n" + `< {"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no","more":1}}`, `the member "more"`},
		"a batch":                      {"/rpc", "> [" + cancel[2:] + "]\n" + `< [{"jsonrpc":"2.0","id":1,"result":{"cancelled":false}}]`, "/cancelled"},
		"an event":                     {"/rpc", event, ""},
		"an unknown event":             {"/rpc", strings.Replace(event, "done", "dance", 1), "'oneOf' failed"},
		"an event with wrong data":     {"/rpc", strings.Replace(event, "completed", "walking", 1), "/data/status"},
		"an event with a wrong id":     {"/rpc", strings.Replace(event, "1-2", "12", 1), "at '/id'"},
		"a notification of no session": {"/rpc", strings.Replace(event, "session.event", "session.dance", 1), `"session.dance" is not described`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			talks := contract.Talk(r, tc.path)
			for frame := range strings.Lines(tc.frames) {
				if frame[0] == '>' {
					talks.Sent([]byte(frame[2:]))
				} else {
					talks.Received([]byte(frame[2:]))
				}
			}
			r.expect(t, tc.fault)
		})
	}
}

func TestClientMaySendWhatItMeansToBeInvalid(t *testing.T) {
	r := &recorder{TB: t}
	talks := contract.Talk(r, "/rpc")
	talks.MaySendInvalid()
	talks.Sent([]byte(`{"jsonrpc":"2.0","id":1,"method":"session.cancel","params":{"sessionId":1}}`))
	talks.Received([]byte(`{"jsonrpc":"2.0","id":1,"result":{"cancelled":true}}`))
	r.expect(t, "")
	talks.Received([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`))
	r.expect(t, "no result")
}

func TestViolationsInStreamsAreCaught(t *testing.T) {
	const done = "id: 1-2\nevent: done\ndata: {\"messageId\":\"m\",\"status\":\"completed\"}\n\n"
	for name, tc := range map[string]struct{ text, fault string }{
		"events and comments":    {": \n\n" + done + strings.Replace(done, "id: 1-2\n", "", 1), ""},
		"an unknown event":       {strings.Replace(done, "done", "dance", 1), `"dance" is not described`},
		"wrong data":             {strings.Replace(done, "completed", "walking", 1), "/status"},
		"more data":              {strings.Replace(done, "{", `{"more":1,`, 1), "'more' not allowed"},
		"no data":                {"event: closed\n\n", "EOF"},
		"a wrong id":             {strings.Replace(done, "1-2", "12", 1), `the id "12"`},
		"no blank after a colon": {strings.Replace(done, "event: done", "event:done", 1), `the line "event:done"`},
		"another field":          {"retry: 1\n" + done, `the line "retry: 1"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{TB: t}
			stream := io.MultiWriter(contract.NewStream(r))
			for _, part := range strings.SplitAfter(tc.text, "t") { // pieces do not end with lines
				_, err := io.WriteString(stream, part)
				require.NoError(t, err)
			}
			r.expect(t, tc.fault)
		})
	}
}

func TestViolationsInTerminalsAreCaught(t *testing.T) {
	for frame, isSent := range map[string]bool{"oa": false, "e": false, `{"input":"a"}`: true, `{"columns":1,"rows":1}`: true, `{"shown":1}`: true, "{": true} {
		require.NoError(t, contract.CheckTerminal([]byte(frame), isSent), frame)
	}
	for frame, isSent := range map[string]bool{"a": false, `{"shown":1}`: false, `{"columns":1}`: true, `{"shown":0}`: true, `"o"`: true} {
		assert.Error(t, contract.CheckTerminal([]byte(frame), isSent), frame)
	}
}

func TestViolationsInFramesOfOperationsAreCaught(t *testing.T) {
	const frame = `{"id":"6b3f0c3a-8f0b-4d7b-9f0e-4d9c7a5e1c11","operation_id":"6b3f0c3a-8f0b-4d7b-9f0e-4d9c7a5e1c11","sequence":0,"type":"thinking",` +
		`"content":"a","timestamp":"2026-02-18T14:23:55.800Z","sender":"copilot"}`
	require.NoError(t, contract.CheckFrame([]byte(frame)))
	for name, replace := range map[string][2]string{
		"a notice of the agent": {`"sequence":0`, `"sequence":-1`},
		"an unknown type":       {"thinking", "dancing"},
		"no time":               {"2026-02-18T14:23:55.800Z", "now"},
		"more":                  {`"content"`, `"more":1,"content"`},
		"no JSON":               {"}", ""},
	} {
		assert.Error(t, contract.CheckFrame([]byte(strings.Replace(frame, replace[0], replace[1], 1))), name)
	}
}
