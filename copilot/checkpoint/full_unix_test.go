//go:build unix

package checkpoint_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
)

// limitVariable holds the working directory for a child process that may write only small files.
const limitVariable = "PORTAL_TEST_LIMIT"

// restoreLimited restores the newest checkpoint in a process whose files cannot grow, as on a full disk.
func restoreLimited(t *testing.T, dir string) error {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64 << 10, Max: 64 << 10}))
	s, err := checkpoint.New(checkpoint.Options{Root: childRoot(dir)}).Of(dir)
	require.NoError(t, err)
	_, err = s.Restore(t.Context(), checkpoint.Action{Session: session, Kind: checkpoint.Restore}, "r1", listOf(t, s, session)[0])
	return err
}

func TestRestoreStopsWhenDiskIsFull(t *testing.T) {
	if dir := os.Getenv(limitVariable); dir != "" {
		require.ErrorContains(t, restoreLimited(t, dir), "space")
		return
	}
	dir := filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.Mkdir(dir, 0o755))
	stores, s := openIn(t, childRoot(dir), dir)
	for _, name := range []string{"1", "2", "3"} {
		write(t, dir, name, strings.Repeat("old "+name+"\n", 20_000))
	}
	write(t, dir, "4", "old 4\n")
	old := stateOf(t, dir)
	take(t, s, "old")
	for _, name := range []string{"1", "2", "3", "4"} {
		write(t, dir, name, "new "+name+"\n")
	}
	changed := stateOf(t, dir)

	child := exec.Command(os.Args[0], "-test.run=^TestRestoreStopsWhenDiskIsFull$")
	child.Env = append(os.Environ(), limitVariable+"="+dir)
	out, err := child.CombinedOutput()
	require.NoError(t, err, string(out))
	assertState(t, changed, stateOf(t, dir))

	away := dir + "-away"
	require.NoError(t, os.Rename(dir, away))
	done, err := recoverIn(t, stores)
	require.NoError(t, err)
	assert.Empty(t, done, "the directory may come back")
	require.NoError(t, os.Rename(away, dir))
	done, err = recoverIn(t, stores)
	require.NoError(t, err)
	require.Len(t, done, 1, "it continues when there is space again")
	assert.Empty(t, done[0].Left)
	assertState(t, old, stateOf(t, dir))
	_, err = s.Undo(t.Context(), revertAction, "undo", "")
	require.NoError(t, err)
	assertState(t, changed, stateOf(t, dir))
}
