package socket_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

func TestLastMessageArrivesWhileTheClientIsSending(t *testing.T) {
	for range 20 {
		s := open(t, socket.Options{Linger: patience}, func(ctx context.Context, conn *socket.Conn) {
			_, err := conn.Receive(ctx)
			assert.NoError(t, err)
			assert.NoError(t, conn.Send([]byte("last")))
			conn.Close(4001, "done")
		})
		c := s.dial()
		go flood(c)
		assert.Equal(t, "last", c.hear())
		assert.Equal(t, &websocket.CloseError{Code: 4001, Text: "done"}, c.end())
		c.orderly()
		s.over()
	}
}

func TestCloseOfAClient(t *testing.T) {
	for name, test := range map[string]struct {
		code, answer int
		want         error
	}{
		"that is done":             {websocket.CloseNormalClosure, websocket.CloseNormalClosure, io.EOF},
		"that goes away":           {websocket.CloseGoingAway, websocket.CloseGoingAway, io.EOF},
		"that gives no code":       {websocket.CloseNoStatusReceived, websocket.CloseNoStatusReceived, io.EOF},
		"that has a fault":         {websocket.CloseInternalServerErr, websocket.CloseInternalServerErr, socket.ErrGone},
		"that has its own reasons": {4000, 4000, socket.ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			errs := make(chan error, 2)
			s := open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) {
				listen(errs)(ctx, conn)
				listen(errs)(ctx, conn)
			})
			c := s.dial()
			c.say("hello")
			c.bye(test.code)
			assert.Equal(t, test.answer, c.end().Code)
			for range 2 {
				require.ErrorIs(t, await(t, errs, "receiving ends"), test.want)
			}
			s.over()
		})
	}
}

func TestClosingClientReceivesTheRest(t *testing.T) {
	s := open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) {
		err := conn.Discard(ctx)
		for i := 0; err == nil && i < 100; i++ {
			err = conn.Send(number(i, 100))
		}
		assert.NoError(t, err)
	})
	c := s.dial()
	c.bye(websocket.CloseNormalClosure)
	for i := range 100 {
		isNumber(t, i, c.hear())
	}
	assert.Equal(t, websocket.CloseNormalClosure, c.end().Code)
	s.over()
}

func TestClosingClientIsClosedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began := piped(t, socket.Options{Linger: 50 * time.Millisecond}, deaf), time.Now()
		_, err := io.WriteString(c, goodbye)
		require.NoError(t, err)
		answer, err := io.ReadAll(c)
		require.NoError(t, err)
		assert.Equal(t, "\x88\x02\x03\xe8", string(answer))
		assert.Equal(t, 50*time.Millisecond, time.Since(began))
	})
}

func TestClientThatVanishesIsNoticed(t *testing.T) {
	errs := make(chan error, 3)
	s := open(t, socket.Options{}, func(ctx context.Context, conn *socket.Conn) {
		listen(errs)(ctx, conn)
		<-ctx.Done()
		errs <- context.Cause(ctx)
		errs <- conn.Send([]byte("hello?"))
	})
	require.NoError(t, s.raw().Close())
	for range 3 {
		require.ErrorIs(t, await(t, errs, "it is noticed"), socket.ErrGone)
	}
	s.over()
}

func TestClientThatNeverAnswersTheCloseIsCutOff(t *testing.T) {
	errs := make(chan error, 2)
	s := open(t, socket.Options{Linger: 50 * time.Millisecond}, func(ctx context.Context, conn *socket.Conn) {
		conn.Close(4001, "")
		errs <- conn.Send([]byte("x"))
		_, err := conn.Receive(ctx)
		errs <- err
	})
	c := s.raw()
	s.over()
	for range 2 {
		require.ErrorIs(t, await(t, errs, "it is closed"), socket.ErrClosed)
	}
	_, err := io.ReadAll(c)
	require.NoError(t, err, "the end is an orderly one")
}

func TestLongReasonIsCutAtACharacter(t *testing.T) {
	s := open(t, socket.Options{}, func(_ context.Context, conn *socket.Conn) {
		conn.Close(4001, "x"+strings.Repeat("é", 100))
	})
	assert.Equal(t, &websocket.CloseError{Code: 4001, Text: "x" + strings.Repeat("é", 61)}, s.dial().end())
}

func TestPanicEndsItsConnectionAlone(t *testing.T) {
	var log bytes.Buffer
	options := socket.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
	s := open(t, options, func(ctx context.Context, conn *socket.Conn) {
		if text, _ := conn.Receive(ctx); string(text) == "fail" {
			panic("a fault")
		}
		echo(ctx, conn)
	})
	other, c := s.dial(), s.dial()
	c.say("fail")
	assert.Equal(t, &websocket.CloseError{Code: websocket.CloseInternalServerErr, Text: "internal error"}, c.end())
	s.over()
	assert.Contains(t, log.String(), "a fault")
	other.say("go")
	other.say("hello")
	assert.Equal(t, "hello", other.hear())
}
