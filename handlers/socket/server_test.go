package socket_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

func TestFailedUpgradeIsAnsweredInJSON(t *testing.T) {
	s := open(t, socket.Options{}, deaf)
	good := map[string]string{
		"Connection": "keep-alive, Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	}
	for name, test := range map[string]struct {
		method string
		header map[string]string
		status int
	}{
		"no upgrade at all":        {http.MethodGet, map[string]string{"Connection": "", "Upgrade": ""}, http.StatusUpgradeRequired},
		"an upgrade to HTTP/2":     {http.MethodGet, map[string]string{"Upgrade": "h2c"}, http.StatusUpgradeRequired},
		"another method":           {http.MethodPost, nil, http.StatusMethodNotAllowed},
		"another version":          {http.MethodGet, map[string]string{"Sec-WebSocket-Version": "8"}, http.StatusBadRequest},
		"no key":                   {http.MethodGet, map[string]string{"Sec-WebSocket-Key": ""}, http.StatusBadRequest},
		"a page of another origin": {http.MethodGet, map[string]string{"Origin": "http://elsewhere.example"}, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, "http://"+s.address, nil)
			require.NoError(t, err)
			for _, header := range []map[string]string{good, test.header} {
				for k, v := range header {
					request.Header.Set(k, v)
				}
			}
			status, text := ask(t, request)
			assert.Equal(t, test.status, status)
			assert.NotEmpty(t, text)
		})
	}
}

// ask returns the status and the error of an answer.
func ask(t *testing.T, request *http.Request) (int, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var body struct{ Error string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&body))
	assert.Equal(t, "application/json; charset=utf-8", response.Header.Get("Content-Type"))
	return response.StatusCode, body.Error
}

func TestPageOfTheSameOriginConnects(t *testing.T) {
	s := open(t, socket.Options{}, echo)
	for _, scheme := range []string{"http://", "https://"} {
		c, response, err := websocket.DefaultDialer.Dial("ws://"+s.address, http.Header{"Origin": {scheme + s.address}})
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.NoError(t, c.Close())
	}
}

func TestEndOfTheServerClosesAllConnections(t *testing.T) {
	s := open(t, socket.Options{Linger: patience}, func(ctx context.Context, conn *socket.Conn) {
		if conn.Send([]byte("hello")) == nil {
			<-ctx.Done()
			assert.ErrorIs(t, context.Cause(ctx), socket.ErrClosed)
		}
	})
	codes := make(chan int, 20)
	for range 20 {
		c := s.dial()
		require.Equal(t, "hello", c.hear())
		go flood(c)
		go func() {
			defer c.Close()
			codes <- c.end().Code
		}()
	}
	require.NoError(t, s.Close(t.Context()))
	for range 20 {
		assert.Equal(t, websocket.CloseGoingAway, await(t, codes, "all are closed"))
		s.over()
	}
	require.NoError(t, s.Close(t.Context()), "once more does no harm")
}

func TestConnectionAfterCloseIsRefused(t *testing.T) {
	s := open(t, socket.Options{}, echo)
	require.NoError(t, s.Close(t.Context()))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.address, nil)
	require.NoError(t, err)
	status, text := ask(t, request)
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "the portal is stopping", text)
}

func TestServerCloseIsBounded(t *testing.T) {
	release, begun := make(chan struct{}), make(chan struct{})
	s := open(t, socket.Options{}, func(context.Context, *socket.Conn) {
		close(begun)
		<-release // heeds nothing
	})
	c := s.raw()
	await(t, begun, "it is connected")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	for b := make([]byte, 100); ; {
		if _, err := c.Read(b); err != nil {
			assert.NotErrorIs(t, err, context.DeadlineExceeded)
			break
		}
	}
	close(release)
	s.over()
}

func TestConnectionEndsWithTheContextOfItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(socket.Lasting(t.Context()))
	sockets := socket.New(socket.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sockets.Serve(w, r.WithContext(ctx), deaf)
	}))
	defer server.Close()
	s := &site{Server: sockets, t: t, address: server.Listener.Addr().String()}
	c := s.dial()
	cancel()
	assert.Equal(t, websocket.CloseGoingAway, c.end().Code)
	require.NoError(t, sockets.Close(t.Context()))
}

func TestRequestEndsBeforeItsConnection(t *testing.T) {
	sockets, returned := socket.New(socket.Options{}), make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		returned <- sockets.Serve(w, r, echo)
	}))
	defer server.Close()
	s := &site{Server: sockets, t: t, address: server.Listener.Addr().String()}
	c := s.dial()
	assert.True(t, <-returned)
	c.say("hello")
	assert.Equal(t, "hello", c.hear())
	require.NoError(t, sockets.Close(t.Context()))
}

func TestItIsServedThroughGin(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	sockets, router := socket.New(socket.Options{Linger: 50 * time.Millisecond}), gin.New()
	router.GET("/", func(c *gin.Context) { sockets.Serve(c.Writer, c.Request, echo) })
	server := httptest.NewServer(router)
	defer server.Close()
	s := &site{Server: sockets, t: t, address: server.Listener.Addr().String()}
	c := s.dial()
	c.say("hello")
	assert.Equal(t, "hello", c.hear())
	require.NoError(t, sockets.Close(t.Context()))
}
