package ws_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs/operation"
)

func TestClientReceivesOperationAndEnd(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.start()
		c := s.watch(id)
		c.expect(-1, "Connected to operation "+id)
		s.actions <- think("Well.")
		m := c.next()
		assert.Equal(t, []any{0, "thinking", "Well.", "copilot"}, []any{m.Sequence, m.Type, m.Content, m.Sender})
		s.actions <- say("Done.")
		m = c.next()
		assert.Equal(t, []any{1, "execution", "Done.", "copilot"}, []any{m.Sequence, m.Type, m.Content, m.Sender})
		close(s.actions)
		m = c.next()
		for m.Type == "execution" {
			m = c.next()
		}
		assert.Equal(t, []any{"complete", "system"}, []any{m.Type, m.Sender})
		began := time.Now()
		rest, code := c.end()
		assert.Empty(t, rest)
		assert.Equal(t, websocket.CloseNormalClosure, code)
		assert.GreaterOrEqual(t, time.Since(began), time.Second)
		assert.LessOrEqual(t, time.Since(began), 2*time.Second)
	})
}

// startWith starts an operation that has sent the messages "0", "1" … and goes on.
func (s *site) startWith(n int) string {
	s.tb.Helper()
	id := s.start()
	for i := range n {
		s.actions <- say(fmt.Sprint(i))
	}
	synctest.Wait()
	require.Equal(s.tb, n-1, s.find(id).Last())
	return id
}

func TestReconnectReplaysMissedMessages(t *testing.T) {
	for name, c := range map[string]struct {
		query  []string
		notice string
		number int
		first  int
	}{
		"nothing received":          {[]string{"last_received_sequence", "-1"}, "Connected to operation ", -1, 0},
		"some received":             {[]string{"last_received_sequence", "2"}, "Reconnected. Replaying 2 missed messages (3-4)...", -2, 3},
		"all but one":               {[]string{"last_received_sequence", "3"}, "Reconnected. Replaying 1 missed message (4)...", -2, 4},
		"by the short name":         {[]string{"last_sequence", "2"}, "Reconnected. Replaying 2 missed messages (3-4)...", -2, 3},
		"the long name comes first": {[]string{"last_sequence", "0", "last_received_sequence", "2"}, "Reconnected. Replaying 2 missed messages (3-4)...", -2, 3},
		"all":                       {[]string{"last_received_sequence", "4"}, "Reconnected. No messages were missed.", -2, 5},
		"more than there is": {
			[]string{"last_received_sequence", "5"},
			"Reconnected. There is no message 5 here; the last is 4. Replaying all from the beginning (0-4)...", -2, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, nil, func(s *site) {
				id := s.startWith(5)
				conn := s.watch(id, c.query...)
				m := conn.next()
				assert.Equal(t, c.number, m.Sequence)
				assert.Contains(t, m.Content, c.notice)
				for i := c.first; i < 5; i++ {
					conn.expect(i, fmt.Sprint(i))
				}
				s.actions <- say("5")
				conn.expect(5, "5")
				require.NoError(t, conn.Close())
			})
		})
	}
}

func TestClientAfterEndGetsFullReplay(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(5)
		close(s.actions)
		synctest.Wait()
		last := s.find(id).Last()
		c := s.watch(id)
		c.expect(-1, "Connected to operation "+id)
		all, code := c.end()
		contiguous(t, all, 0, last)
		assert.Equal(t, "complete", all[last].Type)
		assert.Equal(t, websocket.CloseNormalClosure, code)

		c = s.watch(id, "last_received_sequence", fmt.Sprint(last))
		c.expect(-2, "Reconnected. No messages were missed.")
		began := time.Now()
		all, code = c.end()
		assert.Empty(t, all)
		assert.Equal(t, websocket.CloseNormalClosure, code)
		assert.GreaterOrEqual(t, time.Since(began), time.Second)
	})
}

func TestOperationIsUnknownSomeTimeAfterItsEnd(t *testing.T) {
	virtually(t, func(set *settings) { set.operation.Retention = 10 * time.Minute }, func(s *site) {
		id := s.startWith(1)
		close(s.actions)
		time.Sleep(10*time.Minute - time.Second)
		require.NoError(t, s.watch(id).Close())
		time.Sleep(2 * time.Second)
		_, answer := s.try(s.path("operation_id", id), websocket.Dialer{}, nil)
		assert.Equal(t, http.StatusNotFound, answer.status)
	})
}

func TestSilentConnectionSendsAliveNotice(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(0)
		c := s.watch(id)
		c.expect(-1, "Connected to operation "+id)
		began := time.Now()
		c.expect(-1, "Alive check...", -1, "Alive check...")
		assert.Equal(t, 40*time.Second, time.Since(began))
		time.Sleep(15 * time.Second)
		s.actions <- say("0")
		c.expect(0, "0")
		began = time.Now()
		c.expect(-1, "Alive check...")
		assert.Equal(t, 20*time.Second, time.Since(began), "counted from the last message")
		require.NoError(t, c.Close())
	})
}

func TestOperationContinuesWithoutClients(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(1)
		c := s.watch(id)
		c.expect(-1, "Connected to operation "+id, 0, "0")
		go func() { _, _ = c.end() }()
		require.NoError(t, c.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second)))
		synctest.Wait()
		assert.Zero(t, s.api.Connections())
		s.actions <- say("1")
		synctest.Wait()
		assert.Equal(t, operation.Running, s.find(id).Info().Status)
		c = s.watch(id, "last_received_sequence", "0")
		c.expect(-2, "Reconnected. Replaying 1 missed message (1)...", 1, "1")
		require.NoError(t, c.Close())
	})
}

func TestUnresponsiveClientIsDisconnected(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(0)
		c := s.watch(id)
		c.SetPingHandler(func(string) error { return nil })
		go func() { _, _, _ = c.drain() }()
		time.Sleep(5*time.Minute - 10*time.Second)
		assert.Equal(t, 1, s.api.Connections())
		time.Sleep(20 * time.Second)
		assert.Zero(t, s.api.Connections())
	})
}

// drain reads until reading fails.
func (c *client) drain() (n int, last []byte, err error) {
	for {
		_, text, err := c.ReadMessage()
		if err != nil {
			return n, last, err
		}
		n, last = n+1, text
	}
}

func TestSlowClientLosesTheOldestThinkingOnly(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(0)
		c := s.watch(id)
		c.expect(-1, "Connected to operation "+id)
		n := 0
		for range 200 {
			s.actions <- think(fmt.Sprint(n))
			s.actions <- say(fmt.Sprint(n + 1))
			n += 2
		}
		time.Sleep(time.Second) // the client does not read
		close(s.actions)
		synctest.Wait()
		last := s.find(id).Last()
		all, code := c.end()
		assert.Equal(t, websocket.CloseNormalClosure, code)
		var told []message
		skipped := 0
		for _, m := range all {
			if m.Type != "system" {
				told = append(told, m)
				continue
			}
			assert.Equal(t, -3, m.Sequence)
			var some int
			_, err := fmt.Sscanf(m.Content, "Skipped %d", &some)
			require.NoError(t, err)
			skipped += some
		}
		assert.Equal(t, last+1, len(told)+skipped)
		assert.Positive(t, skipped)
		before := -1
		for _, m := range told {
			require.Greater(t, m.Sequence, before)
			for missing := before + 1; missing < m.Sequence; missing++ {
				require.Less(t, missing, n)
				require.Zero(t, missing%2, "only thinking is skipped")
				require.Less(t, missing, last-100, "the oldest is skipped")
			}
			before = m.Sequence
		}
		assert.Equal(t, last, before)
	})
}

func TestReplayIsNotThrottled(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.start()
		for i := range 400 {
			s.actions <- think(fmt.Sprint(i))
		}
		synctest.Wait()
		c := s.watch(id)
		c.expect(-1, "Connected to operation "+id)
		for i := range 400 {
			time.Sleep(200 * time.Millisecond)
			c.expect(i, fmt.Sprint(i))
		}
		require.NoError(t, c.Close())
	})
}

func TestShutdownEndsOperationsFirst(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(3)
		c := s.watch(id)
		c.expect(-1, "Connected to operation "+id)
		began := time.Now()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			s.work.Close(context.Background())
			s.api.Close(context.Background())
		}()
		all, code := c.end()
		contiguous(t, all, 0, 4)
		assert.Equal(t, []string{"error", "complete"}, []string{all[3].Type, all[4].Type})
		assert.Equal(t, map[string]any{"priority": "high"}, all[3].Metadata)
		assert.Equal(t, websocket.CloseNormalClosure, code)
		<-stopped
		assert.Less(t, time.Since(began), time.Second)
		assert.Equal(t, operation.Interrupted, s.find(id).Info().Status)
	})
}

func TestDeathOfAgentSendsErrorAndEnd(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.startWith(2)
		c := s.watch(id, "last_received_sequence", "0")
		c.expect(-2, "Reconnected. Replaying 1 missed message (1)...", 1, "1")
		s.agents.Kill()
		all, code := c.end()
		contiguous(t, all, 2, 1+len(all))
		require.GreaterOrEqual(t, len(all), 2)
		assert.Equal(t, []string{"error", "complete"}, []string{all[len(all)-2].Type, all[len(all)-1].Type})
		assert.Equal(t, websocket.CloseNormalClosure, code)
		assert.Equal(t, operation.Failed, s.find(id).Info().Status)
	})
}

func TestTooManyMessagesEndOperationWithError(t *testing.T) {
	virtually(t, nil, func(s *site) {
		id := s.start()
		c := s.watch(id)
		c.expect(-1, "Connected to operation "+id)
		go func() {
			for i := range 1200 {
				select {
				case s.actions <- say(fmt.Sprint(i)):
				case <-time.After(time.Minute):
					return
				}
			}
		}()
		all, code := c.end()
		contiguous(t, all, 0, 999)
		assert.Equal(t, []string{"error", "complete"}, []string{all[998].Type, all[999].Type})
		assert.Equal(t, websocket.CloseNormalClosure, code)
		time.Sleep(2 * time.Minute)
	})
}

func TestLongMessagesAreCompressedWhenEnabled(t *testing.T) {
	virtually(t, func(set *settings) { set.compress = true }, func(s *site) {
		id := s.startWith(1)
		c, answer := s.try(s.path("operation_id", id), websocket.Dialer{EnableCompression: true}, nil)
		require.NotNil(t, c)
		assert.Contains(t, answer.header.Get("Sec-WebSocket-Extensions"), "permessage-deflate")
		c.expect(-1, "Connected to operation "+id, 0, "0")
		long := strings.Repeat("long ", 1500) + "end"
		s.actions <- say(long)
		c.expect(1, long)
		require.NoError(t, c.Close())
	})
}

func TestUnreadableOperationIsNotReportedComplete(t *testing.T) {
	foreign(t, func(s *site, kept *store.Store) {
		c := s.watch(foreignID)
		c.expect(-1, "Connected to operation "+foreignID)
		require.NoError(t, kept.Close())
		all, code := c.end()
		assert.Empty(t, all)
		assert.Equal(t, 4503, code)
	})
}

const foreignID = "0a9d1c5e-57a4-4a8a-8d5b-2f7f2a3d9b10"

// foreign runs a test in virtual time with an operation that belongs to another process.
func foreign(t *testing.T, test func(*site, *store.Store)) {
	t.Helper()
	var kept *store.Store
	directory := t.TempDir()
	virtually(t, func(set *settings) {
		var err error
		kept, err = store.Open(context.Background(), store.Options{Directory: directory})
		require.NoError(t, err)
		set.operation.Store = kept
		require.NoError(t, kept.Begin(context.Background(), store.Activity{Kind: "operation", ID: foreignID, Head: []byte(`{"ID": "` + foreignID + `", "Status": "running"}`)}))
	}, func(s *site) { defer kept.Close(); test(s, kept) })
}

func TestForeignOperationDoesNotDelayShutdown(t *testing.T) {
	foreign(t, func(s *site, _ *store.Store) {
		c := s.watch(foreignID)
		c.expect(-1, "Connected to operation "+foreignID)
		gently, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
		defer cancel()
		s.work.Close(gently)
		s.api.Close(gently)
		assert.NoError(t, gently.Err(), "leaves time to stop the sessions")
		require.NoError(t, c.Close())
	})
}

func TestCompressionBombIsRefused(t *testing.T) {
	virtually(t, func(set *settings) { set.compress = true }, func(s *site) {
		id := s.startWith(1)
		c, _ := s.try(s.path("operation_id", id), websocket.Dialer{EnableCompression: true}, nil)
		require.NotNil(t, c)
		c.expect(-1, "Connected to operation "+id, 0, "0")
		c.EnableWriteCompression(true)
		go func() { _ = c.WriteMessage(websocket.TextMessage, make([]byte, 10<<20)) }() // about 10 KB on the wire
		_, code := c.end()
		assert.Equal(t, websocket.CloseMessageTooBig, code)
	})
}
