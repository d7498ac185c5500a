package socket_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/socket"
)

// greet is a method that greets.
func greet(_ context.Context, r *jsonrpc.Request) (any, error) {
	var params struct {
		Name string `json:"name"`
	}
	if err := r.Decode(&params); err != nil {
		return nil, err
	}
	return "hello " + params.Name, nil
}

func ExampleConn_Frames() {
	sockets := socket.New(socket.Options{})
	methods := jsonrpc.Methods{"greet": {Handle: greet}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sockets.Serve(w, r, func(ctx context.Context, conn *socket.Conn) {
			err := jsonrpc.New(conn.Frames(ctx), methods, jsonrpc.Options{}).Run(ctx)
			if err != nil {
				conn.Close(4000, err.Error())
			}
		})
	}))
	defer server.Close()
	defer sockets.Close(context.Background())

	client, upgraded, err := websocket.DefaultDialer.Dial(strings.Replace(server.URL, "http", "ws", 1), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer upgraded.Body.Close()
	defer client.Close()
	client.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"greet","params":{"name":"you"}}`))
	_, answer, _ := client.ReadMessage()
	fmt.Println(string(answer))
	// Output: {"jsonrpc":"2.0","id":1,"result":"hello you"}
}

// peers opens a site that speaks JSON-RPC, and passes on how its peers ended.
func peers(t *testing.T, methods jsonrpc.Methods) (*site, <-chan error) {
	t.Helper()
	ended := make(chan error, 1)
	return open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) {
		err := jsonrpc.New(conn.Frames(ctx), methods, jsonrpc.Options{}).Run(ctx)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		ended <- err
	}), ended
}

func TestRequestWithACloseBehindItIsAnswered(t *testing.T) {
	asked, closing := make(chan struct{}), make(chan struct{})
	s, ended := peers(t, jsonrpc.Methods{"slow": {Handle: func(context.Context, *jsonrpc.Request) (any, error) {
		close(asked)
		<-closing
		return "done", nil
	}}})
	c := s.dial()
	c.say(`{"jsonrpc":"2.0","id":1,"method":"slow"}`)
	await(t, asked, "the method is called")
	c.bye(websocket.CloseNormalClosure)
	close(closing)
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":"done"}`, c.hear())
	assert.Equal(t, websocket.CloseNormalClosure, c.end().Code)
	require.NoError(t, await(t, ended, "the peer ends"))
}

func TestLostPeerIsError(t *testing.T) {
	s, ended := peers(t, jsonrpc.Methods{})
	require.NoError(t, s.raw().Close())
	require.ErrorIs(t, await(t, ended, "the peer ends"), socket.ErrGone)
}

func TestStoppingPeerSendsAllAndCloses(t *testing.T) {
	s, ended := peers(t, jsonrpc.Methods{"quit": {Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) {
		for i := range 100 {
			if err := r.Peer.Notify(ctx, "count", []int{i}); err != nil {
				return nil, err
			}
		}
		r.Peer.Stop()
		return "bye", nil
	}}})
	c := s.dial()
	c.say(`{"jsonrpc":"2.0","id":1,"method":"quit"}`)
	for i := range 100 {
		assert.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"count","params":[%d]}`, i), c.hear())
	}
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":"bye"}`, c.hear())
	assert.Equal(t, websocket.CloseNormalClosure, c.end().Code)
	require.NoError(t, await(t, ended, "the peer ends"))
}

func TestEndOfTheServerEndsAPeer(t *testing.T) {
	s, ended := peers(t, jsonrpc.Methods{})
	c := s.dial()
	c.say(`{"jsonrpc":"2.0","id":1,"method":"unknown"}`)
	assert.Contains(t, c.hear(), "error", "the peer has begun")
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	assert.Equal(t, websocket.CloseGoingAway, c.end().Code)
	require.ErrorIs(t, await(t, ended, "the peer ends"), socket.ErrClosed)
	require.NoError(t, await(t, closed, "the server ends"))
}

func TestSentMessageMayBeReused(t *testing.T) {
	s := open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) {
		frames := conn.Frames(ctx)
		message := []byte("a")
		for message[0] <= 'z' {
			assert.NoError(t, frames.Send(message))
			message[0]++
		}
	})
	c := s.dial()
	for letter := 'a'; letter <= 'z'; letter++ {
		assert.Equal(t, string(letter), c.hear())
	}
}
