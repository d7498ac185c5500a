package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/handlers/mcp"
)

// attach attaches a client to a portal, which calls before with each request.
func attach(t *testing.T, in io.Reader, out io.Writer, before func(body string)) error {
	t.Helper()
	agents := fake.New()
	defer agents.Close()
	host := agents.NewHost(copilot.Options{})
	defer host.Close(t.Context())
	api, router := mcp.New(mcp.Options{Host: host, WorkDir: "/", Version: "1", MaxDepth: 3}), gin.New()
	defer api.Close()
	api.Routes(router)
	portal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		before(string(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		router.ServeHTTP(w, r)
	}))
	defer portal.Close()
	remote := mcp.Remote{
		URL: portal.URL + "/mcp", Transport: http.DefaultTransport,
		Explain: func(_ context.Context, _ *http.Response, err error) error { return err },
	}
	return mcp.Attach(t.Context(), remote, io.NopCloser(in), unclosed{out})
}

// unclosed is a writer that is not closed.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// endSignal is the end of an input. It says that it is read.
type endSignal chan struct{}

func (e endSignal) Read([]byte) (int, error) {
	close(e)
	return 0, io.EOF
}

func TestAttachedClientGetsItsLastAnswers(t *testing.T) {
	end := make(endSignal)
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	in, out := io.MultiReader(strings.NewReader(initialize+"\n"+initialized+"\n"+list+"\n"), end), &bytes.Buffer{}
	require.NoError(t, attach(t, in, out, func(body string) {
		if strings.Contains(body, "tools/list") {
			<-end
		}
	}))
	assert.Contains(t, out.String(), `"id":1,"result"`)
	assert.Contains(t, out.String(), `"id":2,"result"`)
}

func TestAttachmentEndsWithACallThatFailsAlthoughTheClientSendsNothingMore(t *testing.T) {
	in, client := io.Pipe()
	defer client.Close()
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	go func() { _, _ = io.WriteString(client, initialize+"\n"+initialized+"\n"+list+"\n") }()
	err := attach(t, in, io.Discard, func(body string) {
		if strings.Contains(body, "tools/list") {
			panic(http.ErrAbortHandler) // the connection breaks
		}
	})
	require.ErrorContains(t, err, "EOF")
}

func TestInvalidLineOfAnAttachedClientIsAnswered(t *testing.T) {
	out := &bytes.Buffer{}
	require.NoError(t, attach(t, strings.NewReader("x\n"+initialize+"\n"), out, func(string) {}))
	assert.Contains(t, out.String(), `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`)
	assert.Contains(t, out.String(), `"id":1,"result"`)
}

// refusing is an output that nobody reads any more.
type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestErrorsOfTheClientAreNotBlamedOnThePortal(t *testing.T) {
	err := attach(t, iotest.ErrReader(errors.New("no such device")), io.Discard, func(string) {})
	require.EqualError(t, err, "cannot read from the MCP client: no such device")
	unread, in := io.Pipe()
	defer in.Close()
	err = attach(t, io.MultiReader(strings.NewReader(initialize+"\n"), unread), refusing{}, func(string) {})
	require.EqualError(t, err, "cannot write to the MCP client: broken pipe")
}
