package rpc_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/cli"
	"github.com/copilot-portal/portal/handlers/rpc"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// api is the dialect over scripted agents, called without a network.
type api struct {
	*testing.T
	agents  *fake.Agents
	host    *copilot.Host
	rpc     *rpc.API
	handler http.Handler
	plugin  *plugin

	gzip bool // streams that open are compressed
}

// plugin is the IDE's side of call-backs.
type plugin struct {
	answer func(r *http.Request, call document) (status int, body string)

	location string // header of its responses; "" for none

	mu    sync.Mutex
	calls []document
	paths []string
}

// RoundTrip is a request to the plugin.
func (p *plugin) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var call document
	if err := json.Unmarshal(body, &call); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.calls, p.paths = append(p.calls, call), append(p.paths, r.URL.String())
	p.mu.Unlock()
	status, answer := p.answer(r, call)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	header := http.Header{}
	if p.location != "" {
		header.Set("Location", p.location)
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(answer)), Header: header}, nil
}

func (p *plugin) seen() []document {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]document{}, p.calls...)
}

type document = map[string]any

// inTime runs a test in virtual time.
func inTime(t *testing.T, test func(*api)) {
	t.Helper()
	inTimeWith(t, copilot.Options{}, rpc.Options{}, test)
}

func inTimeWith(t *testing.T, h copilot.Options, o rpc.Options, test func(*api)) {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, fake.New(), h, o)
		defer a.agents.Close()
		defer a.host.Close(t.Context())
		defer a.rpc.Close()
		test(a)
	})
}

func newAPI(t *testing.T, agents *fake.Agents, h copilot.Options, o rpc.Options) *api {
	t.Helper()
	a := &api{T: t, agents: agents, plugin: &plugin{}}
	a.host = a.agents.NewHost(h)
	o.Host, o.WorkDir, o.Carrier = a.host, "/", a.plugin
	a.rpc = rpc.New(o)
	r := gin.New()
	a.rpc.Routes(r)
	a.handler = r
	return a
}

// post is a body that is answered with a body.
func (a *api) post(body string) (status int, answer string) {
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.Context(), "POST", "/rpc", strings.NewReader(body)))
	contract.Check(a, contract.Exchange{Method: "POST", Path: "/rpc", Request: body, Status: w.Code, Response: w.Body.String()})
	return w.Code, w.Body.String()
}

// call is a request; failed is its error, if it has one.
func (a *api) call(method string, params any) (result, failed document) {
	a.Helper()
	p, err := json.Marshal(params)
	require.NoError(a, err)
	status, answer := a.post(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + string(p) + `}`)
	require.Equal(a, 200, status)
	var d struct{ Result, Error document }
	require.NoError(a, json.Unmarshal([]byte(answer), &d), answer)
	return d.Result, d.Error
}

// must is a call that does not fail.
func (a *api) must(method string, params any) document {
	a.Helper()
	result, failed := a.call(method, params)
	require.Nil(a, failed, "%s", method)
	return result
}

// refused is the code and the data of a call that fails.
func (a *api) refused(method string, params any) (code int, data string) {
	a.Helper()
	_, failed := a.call(method, params)
	require.NotNil(a, failed, "%s", method)
	n, _ := failed["code"].(float64)
	data, _ = failed["data"].(string)
	return int(n), data
}

func (a *api) create(params document) string {
	a.Helper()
	id, _ := a.must("session.create", params)["sessionId"].(string)
	require.NotEmpty(a, id)
	return id
}

func (a *api) send(session, prompt string) (run string) {
	a.Helper()
	run, _ = a.must("session.send", document{"sessionId": session, "prompt": prompt})["messageId"].(string)
	return run
}

// event is an event of the stream.
type streamEvent struct {
	id, name string
	data     document
}

// stream is a client that reads a stream, line by line as the IDE does.
type stream struct {
	*api
	events chan streamEvent
	status chan int
	close  context.CancelFunc

	header   http.Header  // of the response
	received bytes.Buffer // all of its body, once the stream has ended
}

// open opens a stream; after is the Last-Event-ID.
func (a *api) open(session, query, after string) *stream {
	return a.openWithRoom(100_000, session, query, after)
}

// openWithRoom opens a stream whose client takes so many events before it waits for who looks at them.
func (a *api) openWithRoom(room int, session, query, after string) *stream {
	ctx, cancel := context.WithCancel(a.Context())
	r, w := io.Pipe()
	s := &stream{api: a, events: make(chan streamEvent, room), status: make(chan int, 1), close: cancel, header: http.Header{}}
	zipped := a.gzip
	go func() {
		defer w.Close()
		req := httptest.NewRequestWithContext(ctx, "GET", "/stream/"+session+query, http.NoBody)
		if after != "" {
			req.Header.Set("Last-Event-ID", after)
		}
		if zipped {
			req.Header.Set("Accept-Encoding", "gzip")
		}
		a.handler.ServeHTTP(&piped{header: s.header, out: w, status: s.status}, req)
	}()
	go func() {
		defer close(s.events)
		in := io.TeeReader(r, &s.received)
		if zipped {
			in = &lazyGzip{from: in}
		}
		parse(io.TeeReader(in, contract.NewStream(a)), s.events)
	}()
	return s
}

// lazyGzip reads what a stream compresses.
type lazyGzip struct{ from, plain io.Reader }

func (z *lazyGzip) Read(b []byte) (n int, err error) {
	if z.plain == nil {
		if z.plain, err = gzip.NewReader(z.from); err != nil {
			return 0, err
		}
	}
	return z.plain.Read(b)
}

// piped is a response that is read while it is written.
type piped struct {
	header http.Header
	out    *io.PipeWriter
	status chan int
}

func (p *piped) Header() http.Header         { return p.header }
func (p *piped) Write(b []byte) (int, error) { return p.out.Write(b) }
func (p *piped) Flush()                      {}
func (p *piped) WriteHeader(status int) {
	select {
	case p.status <- status:
	default:
	}
}

// parse reads events as clients do (spec/contracts/json-rpc-http.notes.md, "Stream").
func parse(r io.Reader, to chan<- streamEvent) {
	lines, e := bufio.NewScanner(r), streamEvent{}
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			e.id = line[4:]
		case strings.HasPrefix(line, "event: "):
			e.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			_ = json.Unmarshal([]byte(line[6:]), &e.data)
		case line == "" && e.name != "":
			to <- e
			e = streamEvent{}
		case strings.HasPrefix(line, ":"):
			to <- streamEvent{name: "comment"}
		}
	}
}

// next is the next event that is no comment; none when the stream has ended.
func (s *stream) next() (e streamEvent, ok bool) {
	s.Helper()
	limit := time.After(time.Hour)
	for {
		select {
		case e, ok := <-s.events:
			if e.name == "comment" {
				continue
			}
			return e, ok
		case <-limit:
			require.Fail(s, "no event in an hour")
		}
	}
}

// until reads up to an event of a name, or the end.
func (s *stream) until(name string) (all []streamEvent) {
	s.Helper()
	for {
		e, ok := s.next()
		if !ok {
			return all
		}
		all = append(all, e)
		if e.name == name {
			return all
		}
	}
}

func names(events []streamEvent) string {
	var list []string
	for _, e := range events {
		list = append(list, e.name)
	}
	return strings.Join(list, " ")
}

// shown is what the plugin shows: it appends every text.
func shown(events []streamEvent) string {
	var out strings.Builder
	for _, e := range events {
		if content, ok := e.data["content"].(string); ok && e.data["type"] == "text" {
			out.WriteString(content)
		}
	}
	return out.String()
}

func find(a *api, events []streamEvent, name string) document {
	a.Helper()
	for _, e := range events {
		if e.name == name {
			return e.data
		}
	}
	require.Fail(a, "no "+name, "%v", events)
	return nil
}

func TestSessionIsCreatedSentToAndStreamed(t *testing.T) {
	inTime(t, func(a *api) {
		id := a.create(document{})
		s := a.open(id, "", "")
		<-s.events // it is open
		sent := a.must("session.send", document{"sessionId": id, "prompt": "hello there"})
		assert.Equal(a, "/stream/"+id, sent["streamUrl"])
		assert.Regexp(a, `^[0-9a-f]{8}-[0-9a-f]{4}-4`, sent["messageId"])
		got := s.until("done")
		assert.Equal(a, "hello there", shown(got))
		assert.Equal(a, "timeline.message timeline.message timeline.message timeline.message done", names(got))
		assert.Equal(a, document{"type": "text", "role": "assistant", "content": "", "messageId": got[3].data["messageId"], "delta": false}, got[3].data,
			"the end has an empty content when there were pieces: the plugin appends it")
		assert.Equal(a, document{"messageId": sent["messageId"], "status": "completed"}, got[4].data)
		assert.Equal(a, document{"closed": true}, a.must("session.close", document{"sessionId": id}))
	})
}

func TestErrorsHaveContractCodes(t *testing.T) {
	inTime(t, func(a *api) {
		id := a.create(document{})
		gone := a.create(document{})
		a.must("session.close", document{"sessionId": gone})
		for name, c := range map[string]struct {
			method string
			params document
			code   int
			data   string
		}{
			"no such session":          {"session.send", document{"sessionId": "x", "prompt": "p"}, -32000, "no such session"},
			"a closed session":         {"session.send", document{"sessionId": gone, "prompt": "p"}, -32000, "the session is closed"},
			"closed twice":             {"session.close", document{"sessionId": gone}, -32000, "the session is closed"},
			"no session":               {"session.cancel", document{}, -32602, `"sessionId" is missing`},
			"an empty prompt":          {"session.send", document{"sessionId": id, "prompt": " "}, -32602, "the prompt is empty"},
			"a prompt of another type": {"session.send", document{"sessionId": id, "prompt": 1}, -32602, `"prompt" must be a string, not a number`},
			"no such model":            {"session.send", document{"sessionId": id, "prompt": "p", "model": "gpt-x"}, -32602, `no such model: "gpt-x"`},
			"no such model to start":   {"session.create", document{"model": "gpt-x"}, -32602, `no such model: "gpt-x"`},
			"no such directory":        {"session.create", document{"workingDirectory": "/nowhere"}, -32602, "the working directory does not exist or is not a directory"},
			"no decision":              {"session.create", document{"permissions": document{"fs.write": "maybe"}}, -32602, `permissions.fs.write: "maybe" is not a decision: use allow, ask or deny`},
			"no such permission":       {"session.create", document{"permissions": document{"fs.wirte": "deny"}}, -32602, "permissions.fs.wirte: unknown permission"},
			"no such method":           {"session.nothing", document{}, -32601, `there is no method "session.nothing"`},
			"no question":              {"question.answer", document{"sessionId": id, "callId": "c", "approved": true}, -32602, "no such question"},
			"no answer":                {"question.answer", document{"sessionId": id, "callId": "c"}, -32602, `"approved" (true or false), "answer" (text) or "failed" (true) is missing`},
			"a call-back elsewhere":    {"session.create", document{"callbackUrl": "http://example.org/x"}, -32602, `call-backs go to this machine only, not to "example.org"; sidecar.callback_remote in the configuration allows others`},
			"context without a file":   {"session.send", document{"sessionId": id, "prompt": "p", "context": []document{{"file": "/nowhere.x"}}}, -32602, "attachment 1: /nowhere.x cannot be read: no such file or directory"},
		} {
			code, data := a.refused(c.method, c.params)
			assert.Equal(a, c.code, code, name)
			assert.Equal(a, c.data, data, name)
		}
	})
}

func TestMissingAgentIsSDKError(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Before = func(_ context.Context, c fake.Call) error {
			if c.Method == fake.Launch {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		code, data := a.refused("session.create", document{})
		assert.Equal(a, -32002, code)
		assert.Contains(a, data, "the agent did not start")
	})
}

func TestRequestsFollowJSONRPC(t *testing.T) {
	inTime(t, func(a *api) {
		for body, want := range map[string]string{
			`{`:                        `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"unexpected end of JSON input"}}`,
			`{"jsonrpc":"2.0","id":7}`: `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"Invalid Request","data":"\"method\" must be a string"}}`,
			`[{"jsonrpc":"2.0","id":"a","method":"session.list"},{"jsonrpc":"2.0","method":"session.list"}]`: `[{"jsonrpc":"2.0","id":"a","result":{"sessions":[]}}]`,
			`{"jsonrpc":"2.0","id":1.50,"method":"session.list"}`:                                            `{"jsonrpc":"2.0","id":1.50,"result":{"sessions":[]}}`,
		} {
			status, answer := a.post(body)
			assert.Equal(a, 200, status)
			assert.Equal(a, want, answer)
		}
		status, answer := a.post(`{"jsonrpc":"2.0","method":"session.list"}`)
		assert.Equal(a, 204, status)
		assert.Empty(a, answer)
	})
}

func TestModelsAreListedAndChosenByIDOrName(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Models[1].Context, a.agents.Models[1].Vision = 200_000, true
		assert.Equal(a, document{"models": []any{
			document{"id": "model-a", "name": "Model A", "capabilities": []any{"code", "chat"}, "contextWindow": 0.0, "multiplier": 1.0},
			document{"id": "model-b", "name": "Model B", "capabilities": []any{"code", "chat", "vision"}, "contextWindow": 200_000.0, "multiplier": 0.25},
		}}, a.must("models.list", document{}))
		used := make(chan string, 10)
		a.agents.Script = func(t *fake.Turn) { used <- t.Model }
		id := a.create(document{"model": "Model B"})
		s := a.open(id, "", "")
		for _, name := range []string{"", "model-a", "MODEL B", "model-b"} {
			a.must("session.send", document{"sessionId": id, "prompt": "p", "model": name})
			s.until("done")
		}
		close(used)
		var got []string
		for m := range used {
			got = append(got, m)
		}
		assert.Equal(a, []string{"model-b", "model-a", "model-b", "model-b"}, got)
	})
}

func TestContextReachesTheModelWithLinesAndSymbol(t *testing.T) {
	inTime(t, func(a *api) {
		seen := make(chan []event.Attachment, 1)
		a.agents.Script = func(t *fake.Turn) { seen <- t.Attachments }
		id := a.create(document{})
		a.must("session.send", document{"sessionId": id, "prompt": "p", "context": []document{
			{"file": "src/Main.java", "startLine": 10, "endLine": 25, "content": "int x;", "symbol": "methodName"},
			{"content": "some text"},
		}})
		assert.Equal(a, []event.Attachment{
			{Path: "/src/Main.java", First: 10, Last: 25, Symbol: "methodName", Name: "Main.java", Text: "int x;"},
			{Name: "selection", Text: "some text"},
		}, <-seen)
	})
}

func TestUnusedSessionsAreClosed(t *testing.T) {
	inTimeWith(t, copilot.Options{}, rpc.Options{Idle: 2 * time.Hour}, func(a *api) {
		watched, used, forgotten := a.create(document{}), a.create(document{}), a.create(document{})
		s := a.open(watched, "", "")
		time.Sleep(90 * time.Minute)
		a.must("session.cancel", document{"sessionId": used})
		time.Sleep(45 * time.Minute)
		code, _ := a.refused("session.send", document{"sessionId": forgotten, "prompt": "p"})
		assert.Equal(a, -32000, code)
		a.send(watched, "p")
		a.send(used, "p")
		s.until("done")
		s.close()
	})
}

func TestClosedSessionsAreForgottenWithoutAnIdleLimit(t *testing.T) {
	inTime(t, func(a *api) {
		id, open := a.create(document{}), a.create(document{})
		s := a.open(id, "", "")
		a.send(id, "p")
		s.until("done")
		s.close()
		closed, err := a.host.Session(a.Context(), id)
		require.NoError(a, err)
		require.NoError(a, closed.Close())
		a.must("session.cancel", document{"sessionId": open})
		time.Sleep(150 * time.Second)
		assert.Equal(a, []string{open}, a.rpc.UsedSessions())
	})
}

func TestSessionIsPinnedAndArchived(t *testing.T) {
	inTimeWith(t, copilot.Options{}, rpc.Options{}, func(a *api) {
		id := a.create(document{})
		assert.Equal(a, document{"updated": true}, a.must("session.update", document{"sessionId": id, "pinned": true}))
		a.must("session.close", document{"sessionId": id})
		a.must("session.update", document{"sessionId": id, "archived": true})
		list, _ := a.must("session.list", document{})["sessions"].([]any)
		require.Len(a, list, 1)
		s, _ := list[0].(document)
		assert.Equal(a, true, s["pinned"])
		assert.Equal(a, true, s["archived"])
		code, _ := a.refused("session.update", document{"sessionId": id})
		assert.Equal(a, -32602, code)
	})
}

func TestOpenRPCDescribesAllMethods(t *testing.T) {
	text, err := os.ReadFile("../../spec/openrpc.json")
	require.NoError(t, err)
	var spec struct {
		Methods []struct {
			Name   string
			Params []struct{ Name string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &spec))
	told := map[string][]string{}
	for _, m := range spec.Methods {
		told[m.Name] = []string{}
		for _, p := range m.Params {
			told[m.Name] = append(told[m.Name], p.Name)
		}
	}
	assert.Equal(t, map[string][]string{
		"session.create":      rpc.ParamsOf(rpc.CreateParams{}),
		"session.send":        rpc.ParamsOf(rpc.SendParams{}),
		"session.close":       {"sessionId"},
		"session.cancel":      rpc.ParamsOf(rpc.CancelParams{}),
		"session.permissions": {"sessionId"},
		"session.update":      rpc.ParamsOf(rpc.UpdateParams{}),
		"session.revoke":      rpc.ParamsOf(rpc.RevokeParams{}),
		"session.fork":        rpc.ParamsOf(rpc.ForkParams{}),
		"session.resend":      rpc.ParamsOf(rpc.ResendParams{}),
		"session.changes":     {"sessionId", "messageId"},
		"session.diff":        {"sessionId", "messageId", "path"},
		"session.revert":      rpc.ParamsOf(rpc.ChangesParams{}),
		"session.restore":     rpc.ParamsOf(rpc.RestoreParams{}),
		"session.undo":        rpc.ParamsOf(rpc.UndoParams{}),
		"commit.propose":      rpc.ParamsOf(rpc.ProposeCommitParams{}),
		"commit.create":       rpc.ParamsOf(rpc.CreateCommitParams{}),
		"pullRequest.propose": {"sessionId"},
		"pullRequest.create":  rpc.ParamsOf(rpc.CreatePullParams{}),
		"session.list":        rpc.ParamsOf(rpc.ListParams{}),
		"queue.list":          {"sessionId"},
		"queue.edit":          {"sessionId", "messageId", "prompt"},
		"queue.move":          {"sessionId", "messageId", "before"},
		"queue.send":          {"sessionId", "messageId"},
		"file.read":           rpc.ParamsOf(rpc.FileParams{}),
		"share.create":        {"sessionId", "rights", "expiresIn", "label"},
		"share.list":          {"sessionId"},
		"share.revoke":        {"sessionId", "shareId"},
		"share.current":       {},
		"question.answer":     rpc.ParamsOf(rpc.AnswerParams{}),
		"models.list":         {},
		"extensions.list":     {"directory"},
		"servers.check":       {"directory"},
		"server.add":          {"name", "command", "args", "variables", "url", "headers"},
		"server.remove":       {"name"},
		"server.enable":       {"name", "enabled", "directory"},
		"server.signin":       {"server", "directory"},
		"skill.enable":        {"name", "enabled", "directory"},
		"session.subscribe":   rpc.ParamsOf(rpc.SubscribeParams{}),
		"session.unsubscribe": {"sessionId"},
		"generate":            {"spec", "format", "theme", "options"},
		"customize":           {"currentCode", "prompt", "spec", "history"},
		"chat":                {"message", "context"},
	}, told)
	inTime(t, func(a *api) {
		methods := slices.Concat(a.rpc.SocketMethods(), slices.Collect(maps.Keys(cli.New(cli.Options{}).Methods())))
		assert.ElementsMatch(a, methods, slices.Collect(maps.Keys(told)))
	})
}

func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"session.create","params":{"permissions":{"git.push":"deny"},"tools":[{"name":"a.b","parameters":{}}]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session.send","params":{"sessionId":"x","prompt":"p","context":[{"startLine":-1}]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"question.answer","params":{"sessionId":"x","callId":"c","fields":{"a":[1]}}}`,
		`[{"jsonrpc":"2.0","id":null,"method":"session.list","params":{"limit":-1,"after":"x"}},1]`,
	} {
		f.Add(seed)
	}
	agents := fake.New()
	host := agents.NewHost(copilot.Options{})
	api := rpc.New(rpc.Options{Host: host, WorkDir: "/"})
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	api.Routes(r)
	f.Cleanup(func() { api.Close(); host.Close(context.Background()); agents.Close() })
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/rpc", strings.NewReader(body)))
		assert.Contains(t, []int{200, 204}, w.Code)
		assert.Equal(t, w.Code == 200, json.Valid(w.Body.Bytes()), w.Body.String())
		assert.NotContains(t, w.Body.String(), "panic")
	})
}
