package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/workspace"
)

func TestWholeFileIsReadAsItIs(t *testing.T) {
	const text = "\ufeffa\r\nb"
	dir := put(t, "a.txt", text)
	content, modified, err := workspace.ReadWhole([]string{dir}, filepath.Join(dir, "a.txt"), int64(len(text)))
	require.NoError(t, err)
	assert.Equal(t, text, string(content))
	info, err := os.Stat(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, info.ModTime(), modified)
	require.NoError(t, os.Symlink(filepath.Join(put(t, "b.txt", "secret"), "b.txt"), filepath.Join(dir, "link")))
	for path, kind := range map[string]fault.Kind{"none": fault.NotFound, "link": fault.Invalid, ".": fault.Invalid, "../a.txt": fault.Invalid} {
		_, _, err := workspace.ReadWhole([]string{dir}, path, 100)
		assert.Equal(t, kind, fault.KindOf(err), path)
	}
	_, _, err = workspace.ReadWhole([]string{dir}, "a.txt", int64(len(text))-1)
	assert.Equal(t, fault.Invalid, fault.KindOf(err), "it is too large")
}
