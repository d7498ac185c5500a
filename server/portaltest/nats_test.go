package portaltest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// Waiting for servers on a busy machine.
const (
	patience = 2 * time.Minute
	again    = 50 * time.Millisecond
)

func TestNATSServersKeepWhatTheyAcknowledged(t *testing.T) {
	t.Parallel()
	n := portaltest.NATS(t, clustertest.Options{Servers: 3})
	connection, err := nats.Connect(strings.Join(n.URLs(), ","), nats.MaxReconnects(-1), nats.Timeout(patience))
	require.NoError(t, err)
	defer connection.Close()
	js, err := jetstream.New(connection)
	require.NoError(t, err)
	var stream jetstream.Stream
	require.Eventually(t, func() bool { // the client waits only 5 s
		stream, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "test", Subjects: []string{"test"}, Replicas: 3})
		return err == nil
	}, patience, again)

	stored := uint64(0)
	for i := range 3 {
		n.Kill(i)
		require.Eventually(t, func() bool { // a new leader takes seconds
			ack, err := js.Publish(t.Context(), "test", nil)
			if err == nil {
				stored = ack.Sequence
			}
			return err == nil
		}, patience, again)
		require.NoError(t, n.Restart(t.Context(), i))
	}
	require.Eventually(t, func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.LastSeq >= stored && len(info.Cluster.Replicas) == 2 && info.Cluster.Replicas[0].Current && info.Cluster.Replicas[1].Current
	}, patience, again)
}
