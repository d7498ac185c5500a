package checkpoint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
)

// gitDirectory returns the git directory of the only store below a root.
func gitDirectory(t *testing.T, root string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "*", "git"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// lose removes the commit of a checkpoint.
func lose(t *testing.T, root, name string) {
	t.Helper()
	dir := gitDirectory(t, root)
	out, err := exec.Command("git", "--git-dir="+dir, "rev-parse", "refs/portal/"+session+"/"+name).Output()
	require.NoError(t, err)
	id := strings.TrimSpace(string(out))
	require.NoError(t, os.Remove(filepath.Join(dir, "objects", id[:2], id[2:])))
}

func TestLostCheckpointLeavesOthersReadable(t *testing.T) {
	dir, root := t.TempDir(), t.TempDir()
	stores := checkpoint.New(checkpoint.Options{Root: root})
	defer stores.Close()
	s, err := stores.Of(dir)
	require.NoError(t, err)
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
