//go:build unix

package checkpoint_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
)

// slowCollection makes every collection of garbage take seconds in a child process of git, as large stores do. It returns
// a directory: "busy" is in it from the start to the end of a collection, "overlap" after git did something else meanwhile.
func slowCollection(t *testing.T, seconds int) string {
	t.Helper()
	dir := t.TempDir()
	program, err := exec.LookPath("git")
	require.NoError(t, err)
	script := fmt.Sprintf(`#!/bin/sh
case " $* " in
*" gc "*) touch %[2]s/busy; (sleep %[3]d; rm %[2]s/busy); exit ;;
esac
if test -e %[2]s/busy; then echo "$*" >>%[2]s/overlap; fi
exec %[1]s "$@"
`, program, dir, seconds)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

// awaitCollection waits for the start of a slow collection.
func awaitCollection(t *testing.T, fake string) {
	t.Helper()
	require.Eventually(t, func() bool { return exists(fake, "busy") }, waitTime, tick)
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

// collectAgain makes the next checkpoint collect garbage.
func collectAgain(t *testing.T, root string) {
	t.Helper()
	stamps, err := filepath.Glob(filepath.Join(root, "*", "collected"))
	require.NoError(t, err)
	require.NotEmpty(t, stamps)
	for _, name := range stamps {
		require.NoError(t, os.Chtimes(name, time.Time{}, time.Unix(0, 0)))
	}
}

// collecting starts a collection that takes ten minutes, with two checkpoints, and returns the directory of its program.
func collecting(t *testing.T, root string, s *checkpoint.Store) (fake string) {
	t.Helper()
	take(t, s, "1")
	fake = slowCollection(t, 600)
	collectAgain(t, root)
	take(t, s, "2")
	awaitCollection(t, fake)
	return fake
}

func TestCollectionEndsWithItsChildrenForOperationsAndClose(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	stores, s := openIn(t, root, dir)
	fake := collecting(t, root, s)
	remove(t, fake, "busy")
	start := time.Now()
	take(t, s, "3") // and starts the collection anew
	assert.Less(t, time.Since(start), waitTime, "an operation interrupts the collection")
	awaitCollection(t, fake)
	start = time.Now()
	stores.Close()
	assert.Less(t, time.Since(start), waitTime)

	require.Eventually(t, func() bool { return !isLocked(t, root) }, waitTime, tick, "all children ended")
}

func TestCollectionEndsForOtherProcesses(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	_, s := openIn(t, root, dir)
	collecting(t, root, s)
	_, other := openIn(t, root, dir) // as another process
	start := time.Now()
	assert.Len(t, listOf(t, other, session), 2)
	assert.Less(t, time.Since(start), waitTime)
}

func TestCollectionThatTakesTooLongIsTriedAgainLater(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	var log syncBuffer
	stores := checkpoint.New(checkpoint.Options{Root: root, Collect: 10 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(stores.Close)
	s, err := stores.Of(dir)
	require.NoError(t, err)
	fake := collecting(t, root, s)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "takes too long") }, waitTime, tick)
	require.Eventually(t, func() bool { return !isLocked(t, root) }, waitTime, tick)
	remove(t, fake, "busy")
	take(t, s, "3")
	stores.Close()
	assert.False(t, exists(fake, "busy"), "it is not collected again")
}

// syncBuffer is a buffer for concurrent use.
type syncBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// isLocked reports whether a process holds the lock of the only store.
func isLocked(t *testing.T, root string) bool {
	t.Helper()
	locks, err := filepath.Glob(filepath.Join(root, "*", "lock"))
	require.NoError(t, err)
	require.Len(t, locks, 1)
	lock, err := os.Open(locks[0])
	require.NoError(t, err)
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

func TestCleanUpLetsCollectionGoOn(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	stores, s := openIn(t, root, dir)
	take(t, s, "1")
	fake := slowCollection(t, 600)
	collectAgain(t, root)
	take(t, s, "2")
	awaitCollection(t, fake)
	require.NoError(t, stores.Keep(t.Context(), func(string) bool { return true }))
	assert.True(t, isLocked(t, root))
}

func TestCollectionOfKilledPortalKeepsItsLock(t *testing.T) {
	if dir := os.Getenv(collectVariable); dir != "" {
		s, err := checkpoint.New(checkpoint.Options{Root: childRoot(dir)}).Of(dir)
		require.NoError(t, err)
		take(t, s, "2")
		<-t.Context().Done() // it is killed
	}
	dir := filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.Mkdir(dir, 0o755))
	_, s := openIn(t, childRoot(dir), dir)
	take(t, s, "1")
	fake := slowCollection(t, 10)
	collectAgain(t, childRoot(dir))
	child := exec.Command(os.Args[0], "-test.run=^TestCollectionOfKilledPortalKeepsItsLock$")
	child.Env = append(os.Environ(), collectVariable+"="+dir)
	require.NoError(t, child.Start())
	awaitCollection(t, fake)
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	assert.Len(t, listOf(t, s, session), 2)
	assert.NoFileExists(t, filepath.Join(fake, "overlap"))
}

// collectVariable holds the working directory for a child process that collects garbage until it is killed.
const collectVariable = "PORTAL_TEST_COLLECT"

func TestEmptyStoreIsSkipped(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	stores, s := openIn(t, root, dir)
	take(t, s, "1")
	require.NoError(t, stores.Keep(t.Context(), func(string) bool { return false }))
	t.Setenv("PATH", "") // git would be missing
	require.NoError(t, stores.Keep(t.Context(), func(string) bool { return true }))
	require.NoError(t, s.Forget(t.Context(), session))
	git, err := filepath.Glob(filepath.Join(root, "*", "git"))
	require.NoError(t, err)
	require.Empty(t, git)
}
