package workspace_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git/gittest"
	"github.com/copilot-portal/portal/copilot/workspace"
)

func TestListingDirectoryRunsNoneOfItsPrograms(t *testing.T) {
	trap := gittest.NewTrap(t)
	for _, dir := range []string{trap.Dir, trap.Linked, trap.Nested, trap.Module, filepath.Join(trap.Dir, ".git")} {
		_, err := workspace.Describe(t.Context(), dir)
		require.NoError(t, err)
		assert.Empty(t, trap.Markers(t), "described: %s", dir)
		_, _, err = new(workspace.Files).Complete(dir, "a")
		require.NoError(t, err)
		assert.Empty(t, trap.Markers(t), "completed: %s", dir)
	}
	assert.Equal(t, &workspace.Git{Branch: "trunk", Changed: 3}, describe(t, trap.Dir).Git, "a.txt, a.dat and linked")
	assert.NotEmpty(t, trap.Trigger(t), "control: plain git runs the programs")
}
