package server_test

import (
	"bytes"
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
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// Otherwise no node could ever use the session again.
func TestSubjectWhoseNewestMessageTheServersLostGoesOn(t *testing.T) {
	t.Parallel()
	ctx, n, log := logOnNATS(t)
	first, err := log.Append(ctx, "session/s", 0, "1", []byte("one"))
	require.NoError(t, err)
	second, err := log.Append(ctx, "session/s", first, "2", []byte("two"))
	require.NoError(t, err)
	lose(ctx, t, n, "portal.portal.log.>", second)

	_, err = log.Append(ctx, "session/s", 0, "0", []byte("of a node that has not read the first"))
	require.ErrorIs(t, err, cluster.ErrConflict)
	third, err := log.Append(ctx, "session/s", second, "3", []byte("three"))
	require.NoError(t, err)
	assert.Greater(t, third, second)
	_, err = log.Append(ctx, "session/s", second, "4", []byte("of another node that has read the second"))
	require.ErrorIs(t, err, cluster.ErrConflict)
}

func TestDamagedObjectIsReported(t *testing.T) {
	t.Parallel()
	ctx, n, log := logOnNATS(t)
	require.NoError(t, log.Put(ctx, "session/s/object", make([]byte, 200<<10)))
	data, err := log.Get(ctx, "session/s/object")
	require.NoError(t, err)
	require.Len(t, data, 200<<10)
	lose(ctx, t, n, "$O.portal-portal-objects.C.>", 2) // the second of its parts
	_, err = log.Get(ctx, "session/s/object")
	require.ErrorIs(t, err, cluster.ErrDamaged)
}

func TestRequestWhoseAnswerIsLostIsRepeated(t *testing.T) {
	t.Parallel()
	ctx, n, member := logOnNATS(t)
	network := portaltest.Balance(t, n.Addresses()...)
	caller, err := jetstream.Dial(jetstream.Options{Servers: []string{"nats://" + network.Address()}, Name: "portal", Node: "two", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { caller.Close() })
	ctx, stop := context.WithCancel(ctx)
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

	answer, err := caller.Request(ctx, "member", "id", []byte("text"))
	for errors.Is(err, cluster.ErrNobody) { // the member does not serve yet
		time.Sleep(time.Second / 50)
		answer, err = caller.Request(ctx, "member", "id", []byte("text"))
	}
	require.NoError(t, err)
	assert.Regexp(t, `^text, call \d$`, string(answer))
}

// logOnNATS returns a server with a log, and a context that gives it more time for each request than its client does.
func logOnNATS(t *testing.T) (context.Context, *clustertest.NATS, *jetstream.Log) {
	t.Helper()
	n := portaltest.NATS(t, clustertest.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	log, err := jetstream.Dial(jetstream.Options{Servers: n.URLs(), Name: "portal", Node: "one", Replicas: 1, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	return ctx, n, log
}

// awaitCopy waits until the log says where a copy of a session's conversation is.
func awaitCopy(t *testing.T, n *clustertest.NATS, session string) {
	t.Helper()
	log, err := jetstream.Dial(jetstream.Options{Servers: n.URLs(), Name: "portal", Node: "reader", Replicas: 1})
	require.NoError(t, err)
	defer log.Close()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	err = log.Read(ctx, 0, func(messages []cluster.Message) error {
		for _, m := range messages {
			switch c, _, err := cluster.DecodeHead(m.Data); {
			case err != nil:
				return err
			case c.Subject == store.SessionSubject(session) && c.Session != nil && bytes.Contains(c.Session.Meta, []byte("/conversation-")):
				return errFound
			}
		}
		return nil
	})
	require.ErrorIs(t, err, errFound)
}

var errFound = errors.New("it is found")

// lose deletes a message of a stream.
func lose(ctx context.Context, t *testing.T, n *clustertest.NATS, subject string, sequence uint64) {
	t.Helper()
	conn, err := nats.Connect(n.URLs()[0], nats.Timeout(soon))
	require.NoError(t, err)
	defer conn.Close()
	js, err := natsjs.New(conn)
	require.NoError(t, err)
	for name := range js.StreamNames(ctx, natsjs.WithStreamListSubject(subject)).Name() {
		s, err := js.Stream(ctx, name)
		require.NoError(t, err)
		require.NoError(t, s.DeleteMsg(ctx, sequence))
	}
}
