package ipc_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/ipc"
)

// open opens a process with three calls.
func open(t *testing.T, directory, name string) *ipc.Processes {
	t.Helper()
	p, err := ipc.Open(directory, name, nil)
	require.NoError(t, err)
	p.Handle("POST /call/{path}", func(r *http.Request) (any, error) {
		var params string
		err := ipc.Params(r, &params)
		return name + " " + r.PathValue("path") + " " + params, err
	})
	p.Handle("POST /fault", func(*http.Request) (any, error) { return nil, fault.Errorf(fault.Busy, "%w: later", fault.ErrBusy) })
	p.Handle("POST /wait", func(r *http.Request) (any, error) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	})
	t.Cleanup(p.Close)
	return p
}

func TestProcessesCallEachOther(t *testing.T) {
	for name, directory := range map[string]string{
		"short path":                         t.TempDir(),
		"path that is too long for a socket": filepath.Join(t.TempDir(), strings.Repeat("long/", 40)),
	} {
		t.Run(name, func(t *testing.T) {
			a, b := open(t, directory, "a"), open(t, directory, "b")
			var got string
			require.NoError(t, a.Call(t.Context(), "b", "/call/x", "y", &got))
			assert.Equal(t, "b x y", got)
			require.NoError(t, b.Call(t.Context(), "a", "/call/y", "", nil))
			require.Error(t, b.Call(t.Context(), "a", "/call/y", 1, nil))
			err := a.Call(t.Context(), "b", "/fault", nil, nil)
			require.ErrorIs(t, err, fault.ErrBusy)
			assert.Equal(t, "the session already has a run: later", err.Error())
			require.ErrorIs(t, a.Call(t.Context(), "b", "/unknown", nil, nil), ipc.ErrUnreachable, "an older version")
		})
	}
}

func TestCallsOfClosedProcessesFail(t *testing.T) {
	directory := t.TempDir()
	a, b := open(t, directory, "a"), open(t, directory, "b")
	require.ErrorIs(t, a.Call(t.Context(), "never", "/call/x", "", nil), ipc.ErrUnreachable)
	waiting := make(chan error, 1)
	go func() { waiting <- a.Call(t.Context(), "b", "/wait", nil, nil) }()
	require.NoError(t, a.Call(t.Context(), "b", "/call/x", "", nil))
	b.Close()
	select {
	case err := <-waiting:
		require.Error(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the call does not end with the process")
	}
	require.ErrorIs(t, a.Call(t.Context(), "b", "/call/x", "", nil), ipc.ErrUnreachable)
	open(t, directory, "c")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, a.Call(ctx, "c", "/wait", nil, nil), context.Canceled)
}

func TestSocketsOfKilledProcessesAreRemoved(t *testing.T) {
	directory := t.TempDir()
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(directory, "killed.sock"), Net: "unix"})
	require.NoError(t, err)
	killed.SetUnlinkOnClose(false)
	require.NoError(t, killed.Close())
	a := open(t, directory, "a")
	b := open(t, directory, "b")
	require.NoError(t, b.Call(t.Context(), "a", "/call/x", "", nil), "the socket of a process that lives stays")
	require.ErrorIs(t, a.Call(t.Context(), "a", "/call/x", "", nil), ipc.ErrUnreachable)
	b.Close()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "a.sock", entries[0].Name())
}

func TestOnlyTheUserEntersTheDirectory(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "sockets")
	require.NoError(t, os.Mkdir(directory, 0o755))
	open(t, directory, "a")
	info, err := os.Stat(directory)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestProcessesThatStartTogetherKeepTheirSockets(t *testing.T) {
	directory := t.TempDir()
	var all sync.WaitGroup
	for n := range 30 {
		all.Go(func() {
			p, err := ipc.Open(directory, fmt.Sprint("p", n), nil)
			if assert.NoError(t, err) {
				t.Cleanup(p.Close)
			}
		})
	}
	all.Wait()
	assert.Len(t, open(t, directory, "last").Others(), 30)
}
