package copilot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
)

func TestProjectIsNearestRepository(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	assert.Equal(t, deep, copilot.ProjectOf(deep))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: elsewhere"), 0o600))
	assert.Equal(t, dir, copilot.ProjectOf(deep))
	assert.Equal(t, dir, copilot.ProjectOf(dir))
	assert.Equal(t, dir, copilot.ProjectOf(filepath.Join(deep, "gone")))
}
