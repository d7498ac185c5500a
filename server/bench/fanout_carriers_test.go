package bench_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// carrier is one way to follow what happens in the portal.
type carrier struct {
	name  string
	bare  bareLoop
	burst int // chunks
	end   string
	begin func(testing.TB, *portaltest.Portal, string) (id string)
	join  func(c *crowd, base, id string)
}

var carriers = []carrier{
	{"rpc", bareSocket, 2000, `"event":"done"`, beginSession, joinRPC},
	{"stream", bareEvents, 2000, `"status":"completed"`, beginSession, joinStream},
	{"ui", bareSocket, 2000, `"status":"completed"`, beginSession, joinUIWith(`"supports_deltas":true`)},
	{"live", bareEvents, 2000, `"onIdle"`, beginSession, joinLive},
	{"ws", bareSocket, 800, `"type":"complete"`, beginOperation, joinOperation}, // an operation has fewer than 900 messages of its own
}

// ofPortal starts a portal for one round.
func (k carrier) ofPortal(b *testing.B, do func(subject) round) round {
	b.Helper()
	model := startGatedModel(b)
	p := start(b, model.url)
	defer p.Stop()
	openPortal(b, p).warm(b).close()
	return do(subject{p.PID, func(c *crowd, l load) (connect, release func()) {
		c.end = []byte(k.end)
		id := k.begin(b, p, l.prompt())
		model.await(b)
		return func() { k.join(c, p.URL, id) }, model.open
	}})
}

// beginSession starts a session with a prompt.
func beginSession(tb testing.TB, p *portaltest.Portal, prompt string) (id string) {
	tb.Helper()
	session := newSession(tb, p, tb.TempDir())
	call(tb, "POST", session+"/query", prompt)
	return session[strings.LastIndex(session, "/")+1:]
}

func joinRPC(c *crowd, base, id string) { c.joinSocket(base+"/rpc", subscribe(id)) }

func subscribe(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session.subscribe","params":{"sessionId":%q}}`, id)
}

func joinStream(c *crowd, base, id string) { c.joinEvents(base + "/stream/" + id) }

// joinUIWith joins as a UI with these capabilities.
func joinUIWith(capabilities string) func(c *crowd, base, id string) {
	return func(c *crowd, base, id string) { c.joinSocket(base+"/ui", attach(capabilities, id)...) }
}

// attach returns the requests with which a UI attaches to a session.
func attach(capabilities, id string) []string {
	return []string{
		`{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocol_version":"0","client":{"name":"bench"},"ui_capabilities":{` + capabilities + `}}}`,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"2","method":"portal.session.attach","params":{"session_id":%q}}`, id),
	}
}

func joinLive(c *crowd, base, id string) {
	c.joinPoll(liveOf(c, base, id))
}

func liveOf(c *crowd, base, id string) string {
	return fmt.Sprintf("%s/api/copilot/session/%s/live/reader%d", base, id, len(c.readers))
}

// beginOperation starts an operation. Its id has that of the client's session behind it.
func beginOperation(tb testing.TB, p *portaltest.Portal, prompt string) (query string) {
	tb.Helper()
	var visitor, operation struct {
		Session   string `json:"session_id"`
		Operation string `json:"operation_id"`
	}
	require.NoError(tb, json.Unmarshal(call(tb, "POST", p.URL+"/auth/verify", ""), &visitor))
	body, err := json.Marshal(map[string]string{"type": "prompt", "prompt": prompt, "model": "bench/" + modelID, "working_directory": tb.TempDir()})
	require.NoError(tb, err)
	answer := call(tb, "POST", p.URL+"/operations?session_id="+visitor.Session, string(body))
	require.NoError(tb, json.Unmarshal(answer, &operation))
	require.NotEmpty(tb, operation.Operation, "%s", answer)
	return url.Values{"operation_id": {operation.Operation}, "session_id": {visitor.Session}}.Encode()
}

func joinOperation(c *crowd, base, query string) { c.joinSocket(base + "/ws?" + query) }
