package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/store"
)

// A timer that has expired when a goroutine looks at it runs in the goroutine, but with the state that the race detector keeps
// for all timers of the bubble. Two at once destroy it, and the process with it, so there is one processor.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// member is a node of a cluster in a test, with its store.
type member struct {
	*cluster.Node

	Log       *memlog.Log
	Store     *store.Store
	changed   chan []string
	directory string
	log       bytes.Buffer // warnings and errors; to be read when nothing happens
	fault     atomic.Pointer[gate]
	stop      func(killed bool)
}

// gate decides what happens to the operations of a node.
type gate = func(context.Context, memlog.Operation) (any, error)

// gate sets what happens to the operations from now on; nil: nothing unusual.
func (m *member) gate(f gate) { m.fault.Store(&f) }

// join starts a node and stops it with the test.
func join(t *testing.T, server *memlog.Server, name, directory string) *member {
	t.Helper()
	m := connect(t, server, name, directory)
	m.start(t)
	return m
}

// connect lets a node join without starting it.
func connect(t *testing.T, server *memlog.Server, name, directory string) *member {
	t.Helper()
	m := &member{directory: directory, changed: make(chan []string, 1000)}
	m.Log = &memlog.Log{Server: server, Gate: func(ctx context.Context, o memlog.Operation) (any, error) {
		if f := m.fault.Load(); f != nil && *f != nil {
			return (*f)(ctx, o)
		}
		return o.Run()
	}}
	logger := slog.New(slog.NewTextHandler(&m.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	m.Node = cluster.New(m.Log, cluster.Options{Name: "test", Node: name, Lease: time.Second, Log: logger, Needs: func(_ store.Session, object string) bool { return !strings.HasSuffix(object, "-old") }})
	s, err := store.Open(t.Context(), store.Options{Directory: directory, Delay: time.Millisecond, Cluster: m.Node})
	require.NoError(t, err)
	m.Store = s
	stopped := false
	m.stop = func(killed bool) {
		if stopped {
			return
		}
		stopped = true
		if killed {
			m.gate(refuse)
			_ = s.Kill()
		}
		m.Close()
		_ = s.Close()
	}
	t.Cleanup(func() { m.stop(true) })
	require.NoError(t, m.Join(t.Context(), s))
	return m
}

func (m *member) start(t *testing.T) {
	t.Helper()
	m.Start(t.Context(), func(sessions []string) { m.changed <- sessions }, func() cluster.State { return cluster.State{PID: 7} })
}

// refuse lets every operation fail.
func refuse(context.Context, memlog.Operation) (any, error) { return nil, errLog }

// trio starts three nodes.
func trio(t *testing.T) (server *memlog.Server, a, b, c *member) {
	t.Helper()
	server = memlog.NewServer()
	directory := t.TempDir()
	nodes := []*member{}
	for _, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, join(t, server, name, directory+"/"+name))
	}
	settle()
	return server, nodes[0], nodes[1], nodes[2]
}

// settle lets everything happen that happens soon.
func settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// create creates a session with some entries.
func (m *member) create(t *testing.T, id string, entries int) *store.Lease {
	t.Helper()
	l, err := m.Store.Create(t.Context(), store.Session{ID: id, Title: "title of " + id, Meta: []byte("meta")})
	require.NoError(t, err)
	fill(t, m.Store, l, 1, uint64(entries))
	return l
}

func fill(t *testing.T, s *store.Store, l *store.Lease, first, last uint64) {
	t.Helper()
	for n := first; n <= last; n++ {
		require.NoError(t, l.Append(entry(n)))
	}
	require.NoError(t, s.Flush(t.Context()))
}

func entry(n uint64) store.Entry {
	return store.Entry{Number: n, Data: fmt.Appendf(nil, "entry %d", n)}
}

// record returns the numbers of the entries that a node has.
func (m *member) record(t *testing.T, id string) (numbers []uint64) {
	t.Helper()
	entries, err := m.Store.Read(t.Context(), id, 0, 0)
	require.NoError(t, err)
	for _, e := range entries {
		require.Equal(t, entry(e.Number).Data, e.Data)
		numbers = append(numbers, e.Number)
	}
	return numbers
}

// upTo returns the numbers from 1.
func upTo(last uint64) (numbers []uint64) {
	for n := uint64(1); n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// same checks that nodes have the same.
func same(t *testing.T, nodes ...*member) {
	t.Helper()
	first := dump(nodes[0].directory)
	require.NotEmpty(t, first)
	for _, m := range nodes[1:] {
		require.Equal(t, first, dump(m.directory))
	}
}

// silence lets a node fall silent until the others take it for dead.
func (m *member) silence() {
	m.gate(refuse)
	time.Sleep(3 * time.Second)
	synctest.Wait()
}
