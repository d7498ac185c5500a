package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// checked returns the findings about servers, one in each line.
func checked(t *testing.T, urls []string, replicas int, monitoring []string) (findings string) {
	t.Helper()
	c := server.Config{Cluster: server.Cluster{NATS: urls, Group: "test", Name: "here", Replicas: replicas, Lease: 6 * time.Second}}
	require.NoError(t, server.CheckCluster(t.Context(), c, monitoring, func(f server.Finding) {
		findings += string(f.Level) + " " + f.Check + ": " + f.Message + "\n"
		assert.True(t, f.Level == server.LevelOK || f.Hint != "", "%s without a hint", f.Check)
	}))
	return findings
}

func TestClusterCheckAcceptsThreeSafeServers(t *testing.T) {
	t.Parallel()
	n := portaltest.NATS(t, clustertest.Options{Servers: 3})
	got := checked(t, n.URLs(), 3, n.Monitors())
	assert.Equal(t, 5, strings.Count(got, "ok "), got)
	assert.Contains(t, got, "ok sync_interval: always on 3 servers\n")

	got = checked(t, n.URLs(), 3, n.Monitors()[:2])
	assert.Contains(t, got, "warning sync_interval: unknown of nats-3\n", "the third one may write later")

	connection, err := nats.Connect(n.URLs()[0], nats.Timeout(soon))
	require.NoError(t, err)
	defer connection.Close()
	js, err := jetstream.New(connection)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "portal-test-log", Subjects: []string{"portal.test.log.>"}, Compression: jetstream.S2Compression})
	require.NoError(t, err)
	got = checked(t, n.URLs(), 3, nil)
	assert.Contains(t, got, "problem replicas: cluster.replicas is 3, but the log was created with 1\n")
	assert.Contains(t, got, "problem compression: the servers compress the log, and may lose messages when they are killed\n")
}

func TestClusterCheckRefusesServers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config   string
		replicas int
		want     string
	}{
		"fewer than replicas":         {"", 3, "problem replicas: cluster.replicas is 3, but there is 1 server with JetStream\n"},
		"that write to the disk late": {"jetstream: { sync_interval: 2m }", 1, "problem sync_interval: not always on nats-1\n"},
		"with small messages":         {"max_payload: 64KB", 1, "problem max_payload: 0.0625 MB is too small: 1 MB is the minimum\n"},
		"without JetStream":           {"jetstream: disabled", 1, "problem JetStream: JetStream cannot be used: "},
		"that want other credentials": {"authorization: { user: a, password: b }", 1, "problem connection: the servers do not accept the credentials: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := portaltest.NATS(t, clustertest.Options{Config: tc.config})
			assert.Contains(t, checked(t, n.URLs(), tc.replicas, n.Monitors()), tc.want)
		})
	}
	t.Run("that do not run", func(t *testing.T) {
		t.Parallel()
		assert.Contains(t, checked(t, []string{"nats://127.0.0.1:1"}, 1, nil), "problem connection: no server answers at nats://127.0.0.1:1: ")
	})
	t.Run("but warns of one that is alone, and of small messages", func(t *testing.T) {
		t.Parallel()
		n := portaltest.NATS(t, clustertest.Options{Config: "max_payload: 1MB"})
		got := checked(t, n.URLs(), 1, nil)
		assert.NotContains(t, got, "problem")
		assert.Contains(t, got, "warning replicas: 1: when a server fails, the cluster waits for it\n")
		assert.Contains(t, got, "warning max_payload: 1 MB is little\n")
		assert.Contains(t, got, "warning sync_interval: unknown of nats-1\n")
	})
}

func TestPasswordsOfServersAreNotShown(t *testing.T) {
	t.Parallel()
	address := []string{"nats://me:s3cret@127.0.0.1:1"}
	got := checked(t, address, 1, nil)
	assert.Contains(t, got, "no server answers at nats://…@127.0.0.1:1: ")
	assert.NotContains(t, got, "s3cret")
	err := server.WithCluster(server.Config{Cluster: server.Cluster{NATS: address, Group: "test", Name: "here"}}, nil)
	require.ErrorContains(t, err, "nats://…@127.0.0.1:1")
	assert.NotContains(t, err.Error(), "s3cret")
}
