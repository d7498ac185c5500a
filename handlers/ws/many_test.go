package ws_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

const (
	watchers   = 40
	reconnects = 500
	spoken     = 800
)

// talks is a script that sends so many messages within about two seconds; every other one is thinking.
func talks(t *fake.Turn) {
	for i := range spoken {
		text := fmt.Sprint(i, " ", strings.Repeat("x", 100))
		if i%2 == 0 {
			t.Think(text)
		} else {
			t.Say(text)
		}
		if i%4 == 0 && !t.Wait(8*time.Millisecond) {
			return
		}
	}
}

func TestReconnectingClientsMissNothing(t *testing.T) {
	s := really(t, func(set *settings) { set.script, set.api.Connections, set.keep = talks, 1000, 16<<10 })
	id := s.start()
	s.keeping(4 << 10)
	stuck := s.watch(id) // does not read
	s.keeping(400 << 10)
	var returned atomic.Int64
	var all sync.WaitGroup
	received := make([][]message, watchers)
	for i := range watchers {
		all.Go(func() { received[i] = s.watchToEnd(id, &returned) })
	}
	all.Wait()
	assert.EqualValues(t, reconnects, returned.Load())
	last := s.find(id).Last()
	require.GreaterOrEqual(t, last, spoken-1)
	for _, one := range received {
		contiguous(t, one, 0, last)
		assert.Equal(t, "complete", one[last].Type)
	}
	assert.Eventually(t, func() bool { return s.api.Connections() == 1 }, time.Minute, time.Millisecond,
		"the client that does not read delays no other and is still connected")
	lost(t, stuck, last)
}

// watchToEnd watches an operation to its end. It drops and renews its connection until all clients together did so often enough.
func (s *site) watchToEnd(id string, returned *atomic.Int64) (all []message) {
	last := -1
	for {
		c, _ := s.try(s.path("operation_id", id, "last_received_sequence", fmt.Sprint(last)), websocket.Dialer{}, nil)
		if !assert.NotNil(s.tb, c) {
			return all
		}
		for left := rand.IntN(60); ; left-- {
			if left <= 0 && returned.Add(1) <= reconnects {
				break
			} else if left <= 0 {
				returned.Add(-1)
				left = 1 << 30
			}
			_, text, err := c.ReadMessage()
			if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				_ = c.Close()
				return all
			}
			if !assert.NoError(s.tb, err) {
				return all
			}
			var m message
			if assert.NoError(s.tb, json.Unmarshal(text, &m)); m.Sequence < 0 {
				continue
			}
			all, last = append(all, m), m.Sequence
		}
		assert.NoError(s.tb, c.NetConn().Close(), "without a close frame")
	}
}

// keeping sets the size of the clients' receive buffers.
func (s *site) keeping(size int) {
	dial := (&net.Dialer{}).DialContext
	s.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(size)
		}
		return conn, err
	}
}

// lost expects that a client missed some thinking and nothing else.
func lost(t *testing.T, c *client, last int) {
	t.Helper()
	all, code := c.end()
	assert.Equal(t, websocket.CloseNormalClosure, code)
	before, missing := -1, 0
	for _, m := range all {
		if m.Sequence < 0 {
			continue
		}
		require.Greater(t, m.Sequence, before)
		for hole := before + 1; hole < m.Sequence; hole++ {
			require.Zero(t, hole%2, "only thinking is skipped")
			missing++
		}
		before = m.Sequence
	}
	assert.Equal(t, last, before)
	assert.Positive(t, missing)
	t.Logf("the client that did not read lost %d of %d messages of thinking", missing, spoken/2)
}
