package soak_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/jetstream"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// What TestKilledServersLoseNothing does.
const (
	writers    = 30
	writePause = 15 * time.Millisecond
	serverLife = 8 * time.Second // until the next one is killed
)

// TestKilledServersLoseNothing kills one server of the log after the other while nodes write to it. Each must be usable again soon, and the log
// must have every message that was acknowledged.
func TestKilledServersLoseNothing(t *testing.T) {
	if os.Getenv("PORTAL_SOAK_LENGTH") == "" {
		t.Skip("takes minutes")
	}
	servers := portaltest.NATS(t, clustertest.Options{Servers: nodes})
	log, err := jetstream.Connect(jetstream.Options{Servers: servers.URLs(), Name: "portal", Node: "a", Replicas: nodes})
	require.NoError(t, err)
	defer log.Close()
	ctx, stop := context.WithTimeout(t.Context(), length(t))
	acknowledged := make([]map[uint64]string, writers)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	for i := range acknowledged {
		acknowledged[i] = map[uint64]string{}
		work.Go(func() { write(ctx, t, log, fmt.Sprintf("session/%d", i), acknowledged[i]) })
	}
	kills := 0
	for ; wait(ctx, serverLife); kills++ {
		servers.Kill(kills % nodes)
		wait(ctx, time.Second)
		began := time.Now()
		require.NoError(t, servers.Restart(context.WithoutCancel(ctx), kills%nodes))
		assert.Less(t, time.Since(began), time.Minute, "kill %d", kills)
	}
	work.Wait()
	found := readMessages(t, log)
	total := 0
	for i, list := range acknowledged {
		total += len(list)
		for sequence, id := range list {
			assert.Equal(t, id, found[sequence], "writer %d, message %d", i, sequence)
		}
	}
	require.NotZero(t, total)
	t.Logf("%d kills, %d acknowledged messages", kills, total)
}

// write appends messages to a subject until ctx ends, and notes those that are acknowledged.
func write(ctx context.Context, t *testing.T, log *jetstream.Log, subject string, acknowledged map[uint64]string) {
	t.Helper()
	var last uint64
	for n := 0; wait(ctx, writePause); n++ {
		id := fmt.Sprintf("%s-%d", subject, n)
		for data := []byte(id + strings.Repeat(" text", 200)); ctx.Err() == nil; {
			sequence, err := log.Append(ctx, subject, last, id, data)
			if err == nil {
				acknowledged[sequence], last = id, sequence
				break
			}
			if !assert.NotErrorIs(t, err, cluster.ErrConflict, id) {
				return
			}
		}
	}
}

// readMessages returns the first words of all messages, by sequence.
func readMessages(t *testing.T, log *jetstream.Log) map[uint64]string {
	t.Helper()
	found := map[uint64]string{}
	readLog(t, log, func(m cluster.Message) error {
		found[m.Sequence], _, _ = strings.Cut(string(m.Data), " ")
		return nil
	})
	return found
}
