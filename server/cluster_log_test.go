package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/jetstream"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// Otherwise no node could ever use the session again.
func TestSubjectWhoseNewestMessageTheServersLostGoesOn(t *testing.T) {
	t.Parallel()
	n, log := logOnNATS(t)
	first, err := log.Append(t.Context(), "session/s", 0, "1", []byte("one"))
	require.NoError(t, err)
	second, err := log.Append(t.Context(), "session/s", first, "2", []byte("two"))
	require.NoError(t, err)
	lose(t, n, "portal.portal.log.>", second)

	_, err = log.Append(t.Context(), "session/s", 0, "0", []byte("of a node that has not read the first"))
	require.ErrorIs(t, err, cluster.ErrConflict)
	third, err := log.Append(t.Context(), "session/s", second, "3", []byte("three"))
	require.NoError(t, err)
	assert.Greater(t, third, second)
	_, err = log.Append(t.Context(), "session/s", second, "4", []byte("of another node that has read the second"))
	require.ErrorIs(t, err, cluster.ErrConflict)
}

func TestDamagedObjectIsReported(t *testing.T) {
	t.Parallel()
	n, log := logOnNATS(t)
	require.NoError(t, log.Put(t.Context(), "session/s/object", make([]byte, 200<<10)))
	data, err := log.Get(t.Context(), "session/s/object")
	require.NoError(t, err)
	require.Len(t, data, 200<<10)
	lose(t, n, "$O.portal-portal-objects.C.>", 2) // the second of its parts
	_, err = log.Get(t.Context(), "session/s/object")
	require.ErrorIs(t, err, cluster.ErrDamaged)
}

func TestRequestWhoseAnswerIsLostIsRepeated(t *testing.T) {
	t.Parallel()
	n, member := logOnNATS(t)
	network := portaltest.Balance(t, n.Addresses()...)
	caller, err := jetstream.Dial(jetstream.Options{Servers: []string{"nats://" + network.Address()}, Name: "portal", Node: "two", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { caller.Close() })
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	var calls atomic.Int32
	work.Go(func() {
		_ = member.Serve(ctx, "member", func(_ context.Context, data []byte) []byte {
			call := calls.Add(1)
			if call == 1 {
				network.Drop() // the caller does not get the answer
			}
			return fmt.Appendf(nil, "%s, call %d", data, call)
		})
	})

	limited, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	answer, err := caller.Request(limited, "member", "id", []byte("text"))
	for errors.Is(err, cluster.ErrNobody) { // the member does not serve yet
		time.Sleep(time.Second / 50)
		answer, err = caller.Request(limited, "member", "id", []byte("text"))
	}
	require.NoError(t, err)
	assert.Regexp(t, `^text, call \d$`, string(answer))
}

// logOnNATS returns a server with a log.
func logOnNATS(t *testing.T) (*clustertest.NATS, *jetstream.Log) {
	t.Helper()
	n := portaltest.NATS(t, clustertest.Options{})
	log, err := jetstream.Connect(jetstream.Options{Servers: n.URLs(), Name: "portal", Node: "one", Replicas: 1, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	return n, log
}

// lose deletes a message of a stream.
func lose(t *testing.T, n *clustertest.NATS, subject string, sequence uint64) {
	t.Helper()
	conn, err := nats.Connect(n.URLs()[0])
	require.NoError(t, err)
	defer conn.Close()
	js, err := natsjs.New(conn)
	require.NoError(t, err)
	for name := range js.StreamNames(t.Context(), natsjs.WithStreamListSubject(subject)).Name() {
		s, err := js.Stream(t.Context(), name)
		require.NoError(t, err)
		require.NoError(t, s.DeleteMsg(t.Context(), sequence))
	}
}
