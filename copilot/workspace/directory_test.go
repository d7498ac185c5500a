package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/workspace"
)

// tree creates a directory with files. A name that ends with a slash is a directory.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if name[len(name)-1] == '/' {
			require.NoError(t, os.MkdirAll(path, 0o700))
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	}
	return dir
}

func names(list []workspace.Entry) []string {
	all := []string{}
	for _, e := range list {
		all = append(all, e.Name)
	}
	return all
}

func TestDirectoriesAreCompleted(t *testing.T) {
	dir := tree(t, "src/", "Sources/", "sound/", ".secret/", "file", "srv/", "other/below/")
	require.NoError(t, os.Symlink(filepath.Join(dir, "other"), filepath.Join(dir, "slink")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "file"), filepath.Join(dir, "sfile")))
	for typed, want := range map[string][]string{
		"/":        {"other", "slink", "sound", "Sources", "src", "srv", ".secret"},
		"/s":       {"slink", "sound", "src", "srv", "Sources"},
		"/S":       {"Sources", "slink", "sound", "src", "srv"},
		"/.":       {".secret"},
		"/other":   {"other"},
		"/other/":  {"below"},
		"/other/x": {},
		"/file/":   {},
		"/gone/a":  {},
	} {
		list, more, err := workspace.Directories(dir + typed)
		require.NoError(t, err, typed)
		assert.Equal(t, want, names(list), typed)
		assert.False(t, more)
		for _, e := range list {
			info, err := os.Stat(e.Path)
			require.NoError(t, err)
			assert.True(t, info.IsDir(), e.Path)
			assert.Equal(t, e.Name, filepath.Base(e.Path))
		}
	}
}

func TestDirectoryListIsLimited(t *testing.T) {
	dir := t.TempDir()
	for i := range workspace.MaxEntries + 1 {
		require.NoError(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("%03d", i)), 0o700))
	}
	list, more, err := workspace.Directories(dir + "/")
	require.NoError(t, err)
	assert.True(t, more)
	assert.Len(t, list, workspace.MaxEntries)
	assert.Equal(t, "000", list[0].Name)
}

func TestHomeDirectoryHasAShortName(t *testing.T) {
	home := tree(t, "work/deep/")
	t.Setenv("HOME", home)
	for typed, want := range map[string]string{"": "/work", "~": "/work", "~/": "/work", "~/w": "/work", "~/work/": "/work/deep"} {
		list, _, err := workspace.Directories(typed)
		require.NoError(t, err, typed)
		require.Len(t, list, 1, typed)
		assert.Equal(t, home+want, list[0].Path, typed)
	}
	d, err := workspace.Describe(t.Context(), "~/work/")
	require.NoError(t, err)
	assert.Equal(t, workspace.Description{Path: home + "/work", Exists: true}, d)
}

func TestInvalidPathIsRefused(t *testing.T) {
	for _, typed := range []string{"work", "./work", "~other", "~other/work", "/a\x00b"} {
		_, _, err := workspace.Directories(typed)
		assert.Equal(t, fault.Invalid, fault.KindOf(err), typed)
		_, err = workspace.Describe(t.Context(), typed)
		assert.Equal(t, fault.Invalid, fault.KindOf(err), typed)
	}
}
