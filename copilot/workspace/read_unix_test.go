//go:build unix

package workspace_test

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/workspace"
)

func TestPipesAndSocketsAreNotOpened(t *testing.T) {
	dir := tree(t, "a.txt")
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer l.Close()
	for _, path := range []string{"pipe", "socket"} {
		_, err := workspace.ReadFile([]string{dir}, path, workspace.Window{}) // would block
		assert.Equal(t, fault.Invalid, fault.KindOf(err))
		require.ErrorContains(t, err, "is not a regular file")
		assert.Empty(t, workspace.FindFiles([]string{dir}, []string{path}))
	}
}
