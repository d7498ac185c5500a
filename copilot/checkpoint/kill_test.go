package checkpoint_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
)

// childVariable holds the working directory for a child process that restores files until it is killed; the stores are
// beside it.
const childVariable = "PORTAL_TEST_RESTORE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		restoreForEver(dir)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func childRoot(dir string) string { return filepath.Join(filepath.Dir(dir), "checkpoints") }

// restoreForEver alternates between the checkpoints "small" and "large". Half of the processes kill themselves once a plan is on disk: on a
// busy machine, the parent would notice it too late.
func restoreForEver(dir string) {
	ctx := context.Background()
	if rand.IntN(2) == 0 {
		go killOncePlanned(dir)
	}
	s, err := checkpoint.New(checkpoint.Options{Root: childRoot(dir)}).Of(dir)
	for i := 0; err == nil; i++ {
		var list []checkpoint.Checkpoint
		err = s.View(ctx, func(v *checkpoint.View) (err error) {
			list, err = v.Checkpoints(ctx, "states")
			return err
		})
		if err == nil {
			fmt.Println("begin")
			_, err = s.Restore(ctx, checkpoint.Action{Session: session, Kind: checkpoint.Restore}, fmt.Sprintf("%d-%d", os.Getpid(), i), list[i%2])
		}
	}
	fmt.Println(err)
}

// killOncePlanned kills this process at a random step of a plan.
func killOncePlanned(dir string) {
	runtime.LockOSThread()
	stores, _ := os.ReadDir(childRoot(dir)) // that of dir exists
	for {
		for _, store := range stores {
			if _, err := os.Lstat(filepath.Join(childRoot(dir), store.Name(), "plan.json")); err == nil {
				time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
				self, _ := os.FindProcess(os.Getpid()) // never fails on Unix
				_ = self.Kill()
			}
		}
	}
}

// fill writes files of a state.
func fill(t *testing.T, dir, state string) {
	t.Helper()
	for i := range 60 {
		remove(t, dir, fmt.Sprint("d", i%7))
	}
	for i := range 60 {
		write(t, dir, fmt.Sprintf("d%d/%s%d", i%7, []string{"same", state}[i%2], i), fmt.Sprintf("%s %d\n", state, i))
	}
	for _, name := range []string{"l\xe4rge", "sm\xe4ll"} { // not UTF-8
		remove(t, dir, name)
	}
	write(t, dir, map[string]string{"large": "l\xe4rge", "small": "sm\xe4ll"}[state], state)
	remove(t, dir, "kind")
	if state == "large" {
		write(t, dir, "kind/x", "a directory")
		require.NoError(t, os.Symlink("kind", filepath.Join(dir, "kind/link")))
		return
	}
	write(t, dir, "kind", "a file")
}

func TestKilledRestoreIsCompleted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.Mkdir(dir, 0o755))
	stores, s := openIn(t, childRoot(dir), dir)
	states := map[string]map[string]string{}
	for _, state := range []string{"small", "large"} {
		fill(t, dir, state)
		states[state] = stateOf(t, dir)
		_, err := s.Take(t.Context(), "states", state)
		require.NoError(t, err)
	}
	completed := 0
	least, most := 4, 50
	if os.Getenv("PORTAL_SOAK") != "" {
		least = 10
	}
	for round := 0; round < least || completed == 0 && round < most; round++ {
		killChild(t, dir)
		done, err := recoverIn(t, stores)
		require.NoError(t, err)
		completed += len(done)
		for _, r := range done {
			assert.Empty(t, r.Left)
			assert.Equal(t, session, r.Session)
		}
		now := stateOf(t, dir)
		want := states["small"]
		if _, large := now["kind/x"]; large {
			want = states["large"]
		}
		assertState(t, want, now)
		again, err := recoverIn(t, stores)
		require.NoError(t, err)
		assert.Empty(t, again)
	}
	require.Positive(t, completed, "no plan was interrupted")
	_, err := s.Undo(t.Context(), revertAction, "undo", "")
	require.NoError(t, err, "also restores of killed processes can be undone")
}

// killChild starts a process that restores files, which is killed at a random moment.
func killChild(t *testing.T, dir string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for range 1 + rand.IntN(3) {
		if !lines.Scan() {
			break // it has killed itself
		}
		require.Equal(t, "begin", lines.Text())
	}
	time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
	_ = child.Process.Kill() // it may have done so
	var end *exec.ExitError
	require.ErrorAs(t, child.Wait(), &end)
	require.False(t, end.Exited(), "it was killed and did not fail")
}
