package transcript_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest/transcript"
)

// echo is a UI whose portal sends fixed lines.
type echo struct {
	sent []string
	says []string
	code int
	cut  bool
}

func (e *echo) Send(line string) { e.sent = append(e.sent, line) }

func (e *echo) Receive(time.Duration) (string, error) {
	if len(e.says) == 0 {
		return "", io.EOF
	}
	line := e.says[0]
	e.says = e.says[1:]
	return line, nil
}

func (e *echo) CloseInput() {}
func (e *echo) Wait() int   { return e.code }
func (e *echo) Cut()        { e.cut = true }

// play plays a script with the portal of e.
func play(t *testing.T, script string, e *echo) error {
	t.Helper()
	s, err := transcript.Parse("a.txt", script)
	require.NoError(t, err)
	return transcript.Setup{
		Schema: schema(t), Open: func() transcript.UI { return e }, Dir: t.TempDir(),
		Stderr: func() string { return "a line of the log" },
	}.Play(s)
}

const (
	listed  = `{"jsonrpc":"2.0","id":"1","result":{"current_workspace_root":"/","sessions":[]}}`
	running = `{"jsonrpc":"2.0","method":"run.status","params":{"run_id":"r","status":"running","meta":{"session_id":"s","cursor":"c"}}}`
	list    = "> {\"id\": \"1\", \"method\": \"session.list\"}\n"
)

func TestMessagesAreCheckedAgainstScriptAndSchema(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		says   []string
		fault  string
	}{
		"as expected":                {list + `< {"id": "1", "result": {"sessions": []}}`, []string{listed}, ""},
		"something else":             {list + `< {"id": "2"}`, []string{listed}, `.id: "1" is not "2"`},
		"nothing":                    {list + `< {"id": "1"}`, nil, "EOF"},
		"another":                    {list + `< {"id": "1"}`, []string{listed, running}, "unexpected message before the end"},
		"another that is ignored":    {"@ignore run.status\n" + list + `< {"id": "1"}`, []string{running, listed, running}, ""},
		"one that is not ignored":    {"@ignore run.status\n" + list + "< {\"method\": \"run.status\"}\n< {\"id\": \"1\"}", []string{running, listed}, ""},
		"in any order":               {list + "@any\n< {\"id\": \"1\"}\n< {\"method\": \"run.status\"}\n@end", []string{running, listed}, ""},
		"in the wrong order":         {list + "< {\"id\": \"1\"}\n< {\"method\": \"run.status\"}", []string{running, listed}, "a.txt:2: <"},
		"no JSON":                    {list + `< {"id": "1"}`, []string{"hello"}, "not JSON"},
		"an answer to nothing":       {`< {"id": "1"}`, []string{listed}, "no result"},
		"an answer of another":       {"> {\"id\": \"1\", \"method\": \"mcp.list\"}\n< {\"id\": \"1\"}", []string{listed}, "servers"},
		"an unknown method":          {`< {"method": "x"}`, []string{`{"jsonrpc":"2.0","method":"x"}`}, `unknown method "x"`},
		"an invalid message to send": {`> {"id": "1", "method": "run.start"}`, nil, "not valid by the schema"},
		"invalid on purpose":         {`>! {"id": "1", "method": "run.start"}`, nil, ""},
		"valid, unexpectedly":        {">! {\"id\": \"1\", \"method\": \"session.list\"}", nil, "should be invalid"},
		"a method that is unknown":   {`>! {"id": "1", "method": "x"}`, nil, ""},
		"no JSON to send":            {`> hello`, nil, "use >!"},
		"no JSON on purpose":         {`>! hello`, nil, ""},
		"a name without a value":     {`> {"id": "$x", "method": "session.list"}`, nil, "$x has no value yet"},
	} {
		t.Run(name, func(t *testing.T) {
			err := play(t, tc.script, &echo{says: tc.says})
			if tc.fault == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tc.fault)
			}
		})
	}
}

func TestFaultShowsTheConversationAndTheLog(t *testing.T) {
	err := play(t, list+`< {"id": "2"}`, &echo{says: []string{listed}})
	assert.EqualError(t, err, `a.txt:2: < expected
	{"id": "2"}
but received
	`+`{"id":"1","jsonrpc":"2.0","result":{"current_workspace_root":"/","sessions":[]}}
which does not match:
	2: .id: "1" is not "2"

The conversation:
	> {"id":"1","jsonrpc":"2.0","method":"session.list"}
	< `+listed+`
	(later messages)

Standard error:
a line of the log`)
}

func TestNamesAreSubstituted(t *testing.T) {
	e := &echo{says: []string{running}}
	require.NoError(t, play(t, `< {"method": "run.status", "params": {"run_id": "$run"}}
> {"id": "1", "method": "run.cancel", "params": {"run_id": "$run", "reason": "of ${run}"}}`, e))
	assert.Equal(t, []string{`{"id":"1","jsonrpc":"2.0","method":"run.cancel","params":{"reason":"of r","run_id":"r"}}`}, e.sent)
}

func TestExitCodeIsChecked(t *testing.T) {
	require.ErrorContains(t, play(t, "@exit 0", &echo{code: 1}), "the exit code is 1, not 0")
	require.ErrorContains(t, play(t, "", &echo{code: 1}), "the exit code is 1, not 0")
	require.NoError(t, play(t, "@exit 1", &echo{code: 1}))
	killed := &echo{code: 1}
	require.NoError(t, play(t, "@kill", killed))
	assert.True(t, killed.cut)
}
