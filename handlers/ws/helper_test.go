package ws_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
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
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/handlers/ws"
	"github.com/copilot-portal/portal/jobs/operation"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// settings are what a test may change.
type settings struct {
	api       ws.Options
	operation operation.Options
	compress  bool
	keep      int // size of the clients' receive buffers; 0: the system's default
	token     string
	script    func(*fake.Turn) // nil: it performs what is sent to [site.actions]
}

// Actions of a script.
type (
	say   string
	think string
)

// site serves the dialect on a network of its own.
type site struct {
	tb      testing.TB
	agents  *fake.Agents
	api     *ws.API
	work    *operation.Host
	address string
	dial    dialer
	client  *http.Client
	session string // session id of requests that name none
	actions chan any
	shut    func() // runs once
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// virtually runs a test in virtual time, on a network of pipes: a write waits for its reader.
func virtually(t *testing.T, change func(*settings), test func(*site)) {
	t.Helper()
	project := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pipes := newPipes()
		s := open(t, pipes, pipes.dial, project, change)
		defer time.Sleep(time.Second) // net/http keeps a connection for half a second after a body that was too large
		defer s.shut()
		test(s)
	})
}

// really serves on a real port, in real time.
func really(tb testing.TB, change func(*settings)) *site {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	s := open(tb, listener, (&net.Dialer{}).DialContext, tb.TempDir(), change)
	tb.Cleanup(s.shut)
	return s
}

func open(tb testing.TB, l net.Listener, dial dialer, project string, change func(*settings)) *site {
	tb.Helper()
	s := &site{tb: tb, agents: fake.New(), address: l.Addr().String(), dial: dial, actions: make(chan any)}
	host := s.agents.NewHost(copilot.Options{})
	set := settings{
		operation: operation.Options{Sessions: host, Policy: permission.Everywhere(permission.Allow), Directory: project},
		script:    s.script,
		api:       ws.Options{User: func() string { return "ada" }},
	}
	if change != nil {
		change(&set)
	}
	s.agents.Script = set.script
	s.work = operation.New(set.operation)
	carrier := ws.Carrier(set.compress, nil)
	if set.keep > 0 {
		carrier.SendBuffer, carrier.WriteTimeout = set.keep, 10*time.Minute // or a busy machine cuts off who does not read
	}
	sockets := socket.New(carrier)
	set.api.Operations, set.api.Sockets = s.work, sockets
	set.api.Token = func() string { return set.token }
	set.api.Authorized = func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer "+set.token }
	s.api = ws.New(set.api)
	server := &http.Server{Handler: engine(s.api), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	s.client = &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	s.shut = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		s.work.Close(ctx)
		s.api.Close(ctx)
		host.Close(ctx)
		assert.NoError(tb, sockets.Close(ctx))
		assert.NoError(tb, server.Close())
		s.agents.Close()
	})
	if set.token == "" {
		s.session = s.visit()
	}
	return s
}

func engine(api *ws.API) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.UseRawPath, e.UnescapePathValues = true, false
	api.Routes(e)
	return e
}

// script performs the actions it receives until their channel is closed.
func (s *site) script(t *fake.Turn) {
	for {
		select {
		case action, ok := <-s.actions:
			if !ok {
				return
			}
			switch text := action.(type) {
			case say:
				t.Say(string(text))
			case think:
				t.Think(string(text))
			}
		case <-t.Aborted():
			return
		case <-t.Gone():
			return
		}
	}
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	text   string
}

func (r reply) json(tb testing.TB) (body map[string]any) {
	tb.Helper()
	require.NoError(tb, json.Unmarshal([]byte(r.text), &body), r.text)
	return body
}

// ask sends a request; header alternates names and values. The default session id is the site's. The exchange must fit spec/openapi.yaml.
func (s *site) ask(method, path, body string, header ...string) reply {
	s.tb.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, "http://"+s.address+path, strings.NewReader(body))
	require.NoError(s.tb, err)
	if s.session != "" {
		request.Header.Set("X-Session-ID", s.session)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer, err := s.client.Do(request)
	require.NoError(s.tb, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.tb, err)
	contract.Check(s.tb, contract.Exchange{
		Method: method, Path: path, Request: body, Status: answer.StatusCode, Type: answer.Header.Get("Content-Type"), Response: string(text),
	})
	return reply{answer.StatusCode, answer.Header, string(bytes.TrimSpace(text))}
}

// visit returns a new session id.
func (s *site) visit(header ...string) string {
	s.tb.Helper()
	r := s.ask("POST", "/auth/verify", "", header...)
	require.Equal(s.tb, http.StatusOK, r.status, r.text)
	id, _ := r.json(s.tb)["session_id"].(string)
	require.Len(s.tb, id, 43)
	return id
}

// start begins an operation and returns its id.
func (s *site) start() string {
	s.tb.Helper()
	r := s.ask("POST", "/operations", `{"type": "prompt", "prompt": "Do it."}`)
	require.Equal(s.tb, http.StatusAccepted, r.status, r.text)
	id, _ := r.json(s.tb)["operation_id"].(string)
	return id
}

// find returns an operation as the domain has it.
func (s *site) find(id string) *operation.Operation {
	s.tb.Helper()
	o, err := s.work.Get(context.Background(), id)
	require.NoError(s.tb, err)
	return o
}

// path returns the path of a WebSocket; query alternates names and values.
func (s *site) path(query ...string) string {
	values := url.Values{}
	if s.session != "" {
		values.Set("session_id", s.session)
	}
	for i := 0; i+1 < len(query); i += 2 {
		values.Set(query[i], query[i+1])
	}
	return "/ws?" + values.Encode()
}
