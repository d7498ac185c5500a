package socket_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

func TestMessagesAreReceived(t *testing.T) {
	s := open(t, socket.Options{}, echo)
	c := s.dial()
	for _, text := range []string{"hello", "", "日本語", strings.Repeat("long ", 100_000)} {
		c.say(text)
		assert.Equal(t, text, c.hear())
	}
}

func TestBurstArrivesInOrderBeforeTheClose(t *testing.T) {
	s := open(t, socket.Options{}, func(_ context.Context, conn *socket.Conn) {
		for i := range 500 {
			assert.NoError(t, conn.Send(number(i, 2000)))
		}
	})
	c := s.dial()
	for i := range 500 {
		isNumber(t, i, c.hear())
	}
	assert.Equal(t, websocket.CloseNormalClosure, c.end().Code)
	s.over()
}

func TestEachOfManySendersKeepsItsOrder(t *testing.T) {
	const senders, each = 8, 200
	s := open(t, socket.Options{}, func(_ context.Context, conn *socket.Conn) {
		var all sync.WaitGroup
		for sender := range senders {
			all.Go(func() {
				for i := range each {
					assert.NoError(t, conn.Send(fmt.Appendf(nil, "%d %d", sender, i)))
				}
			})
		}
		all.Wait()
	})
	c := s.dial()
	var next [senders]int
	for range senders * each {
		var sender, i int
		_, err := fmt.Sscan(c.hear(), &sender, &i)
		require.NoError(t, err)
		require.Equal(t, next[sender], i)
		next[sender]++
	}
	assert.Equal(t, websocket.CloseNormalClosure, c.end().Code)
}

func TestSlowClientIsWaitedForAndLosesNothing(t *testing.T) {
	sent := make(chan int, 1)
	s := open(t, socket.Options{}, func(_ context.Context, conn *socket.Conn) {
		n, err := untilSlow(conn, 64<<10)
		assert.NoError(t, err)
		sent <- n
	})
	c := s.dial()
	for i := range await(t, sent, "sending has to wait") {
		isNumber(t, i, c.hear())
	}
	assert.Equal(t, websocket.CloseNormalClosure, c.end().Code)
}

func TestSlowClientSlowsNobodyElse(t *testing.T) {
	slow := make(chan error, 1)
	s := open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) {
		if text, _ := conn.Receive(ctx); string(text) != "flood" {
			echo(ctx, conn)
			return
		}
		_, err := untilSlow(conn, 64<<10)
		slow <- err
		<-ctx.Done()
	})
	s.dial().say("flood")
	require.NoError(t, await(t, slow, "sending has to wait"))
	other := s.dial()
	other.say("echo")
	other.say("hello")
	assert.Equal(t, "hello", other.hear())
}

func TestClientThatNeverReadsIsCutOff(t *testing.T) {
	failed := make(chan error, 1)
	s := open(t, socket.Options{WriteTimeout: 200 * time.Millisecond}, func(ctx context.Context, conn *socket.Conn) {
		for i := 0; ; i++ {
			if err := conn.Send(number(i, 1000)); err != nil {
				failed <- err
				<-ctx.Done()
				return
			}
		}
	})
	s.raw()
	require.ErrorIs(t, await(t, failed, "sending fails"), socket.ErrGone)
	s.over()
}

func TestClientThatNeverReadsDoesNotHoldUpAClose(t *testing.T) {
	s := open(t, socket.Options{WriteTimeout: 2 * time.Second, Linger: 50 * time.Millisecond}, func(_ context.Context, conn *socket.Conn) {
		_, err := untilSlow(conn, 1000)
		assert.NoError(t, err)
	})
	s.raw()
	s.over()
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	errs := make(chan error, 1)
	s := open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) {
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := conn.Receive(ended)
		errs <- err
		assert.NoError(t, conn.Send([]byte("still here")))
	})
	assert.Equal(t, "still here", s.dial().hear())
	require.ErrorIs(t, await(t, errs, "receiving ends"), context.Canceled)
}
