package checkpoint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/fault"
)

// gitDirectory returns the git directory of the only store below a root.
func gitDirectory(t *testing.T, root string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "*", "git"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// lose removes the commit of a checkpoint and its tree.
func lose(t *testing.T, root, name string) {
	t.Helper()
	dir := gitDirectory(t, root)
	ref := "refs/portal/" + session + "/" + name
	out, err := exec.Command("git", "--git-dir="+dir, "rev-parse", ref, ref+"^{tree}").Output()
	require.NoError(t, err)
	for _, id := range strings.Fields(string(out)) {
		require.NoError(t, os.Remove(filepath.Join(dir, "objects", id[:2], id[2:])))
	}
}

func TestLostCheckpointLeavesOthersReadable(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	_, s := openIn(t, root, dir)
	for _, name := range []string{"1", "2", "3"} {
		write(t, dir, "a", name)
		take(t, s, name)
	}
	lose(t, root, "2")
	list := listOf(t, s, session)
	require.Len(t, list, 2)
	assert.Equal(t, "1", list[0].Name)
	assert.Equal(t, "3", list[1].Name)
	for _, name := range []string{"1", "3"} {
		lose(t, root, name)
	}
	assert.Empty(t, listOf(t, s, session))
}

func TestLocksOfKilledProcessesAreRemoved(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	_, s := openIn(t, root, dir)
	take(t, s, "1")
	shadow := gitDirectory(t, root)
	leave := func() {
		for _, name := range []string{"refs/portal/s1/1.lock", "refs/portal/s1/2.lock", "packed-refs.lock", "packed-refs.new", "HEAD.lock"} {
			write(t, shadow, name, "")
		}
	}
	leave()
	take(t, s, "2")
	leave()
	require.NoError(t, s.Forget(t.Context(), "another"))
	leave()
	require.NoError(t, s.Forget(t.Context(), session))
	assert.Empty(t, listOf(t, s, session))
}

func TestDamagedPlanIsSetAside(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	_, s := openIn(t, root, dir)
	take(t, s, "1")
	for _, text := range []string{"", "{}", `{"steps": 1}`} {
		write(t, filepath.Dir(gitDirectory(t, root)), "plan.json", text)
		take(t, s, "2")
		assert.Equal(t, text, read(t, filepath.Dir(gitDirectory(t, root)), "plan.damaged.json"))
	}
}

func TestFilesAreRestoredOnce(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	stores, s := openIn(t, root, dir)
	write(t, dir, "a", "old")
	old := take(t, s, "1")
	write(t, dir, "a", "new")
	obstacle := filepath.Join(gitDirectory(t, root), "refs/portal", session, "r1") // in place of what records the restore, as if the portal had been killed
	require.NoError(t, os.MkdirAll(obstacle, 0o700))
	_, err := s.Restore(t.Context(), checkpoint.Action{Session: session, Kind: checkpoint.Restore}, "r1", old)
	require.Error(t, err)
	require.Equal(t, "old", read(t, dir, "a"))
	require.NoError(t, os.Remove(obstacle))
	write(t, dir, "a", "new") // the user wants it after all
	done, err := recoverIn(t, stores)
	require.NoError(t, err)
	require.Len(t, done, 1)
	assert.Equal(t, "r1", done[0].ID)
	assert.Equal(t, "new", read(t, dir, "a"))
}

func TestLostCheckpointIsNotFound(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	_, s := openIn(t, root, dir)
	write(t, dir, "a", "1")
	first := take(t, s, "1")
	write(t, dir, "a", "2")
	second := take(t, s, "2")
	lose(t, root, "1")
	err := s.View(t.Context(), func(v *checkpoint.View) error {
		_, err := v.Changes(t.Context(), checkpoint.Span{From: first, To: second})
		return err
	})
	assert.Equal(t, fault.NotFound, fault.KindOf(err), err)
	_, err = s.Restore(t.Context(), revertAction, "r1", first)
	assert.Equal(t, fault.NotFound, fault.KindOf(err), err)
}

func TestStoreInUseIsCleanedUpLater(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	stores, s := openIn(t, root, dir)
	take(t, s, "1")
	none := func(string) bool { return false }
	require.NoError(t, s.View(t.Context(), func(*checkpoint.View) error { return stores.Keep(t.Context(), none) }))
	assert.Len(t, listOf(t, s, session), 1)
	require.NoError(t, stores.Keep(t.Context(), none))
	assert.Empty(t, listOf(t, s, session))
}

func TestFailedCleanUpKeepsSinceWhenSessionsAreMissing(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	stores := checkpoint.New(checkpoint.Options{Root: root, Missing: time.Hour})
	t.Cleanup(stores.Close)
	s, err := stores.Of(dir)
	require.NoError(t, err)
	take(t, s, "1")
	none := func(string) bool { return false }
	require.NoError(t, stores.Keep(t.Context(), none))
	files, err := filepath.Glob(filepath.Join(root, "*", "missing.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(files[0], fmt.Appendf(nil, `{%q: "2000-01-01T00:00:00Z"}`, session), 0o600))
	path := os.Getenv("PATH")
	t.Setenv("PATH", "")
	require.Error(t, stores.Keep(t.Context(), none))
	t.Setenv("PATH", path)
	require.NoError(t, stores.Keep(t.Context(), none))
	assert.Empty(t, listOf(t, s, session))
}
