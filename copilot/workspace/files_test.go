package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/workspace"
)

func paths(t *testing.T, f *workspace.Files, dir, query string) []string {
	t.Helper()
	list, _, err := f.Complete(dir, query)
	require.NoError(t, err)
	all := []string{}
	for _, e := range list {
		assert.Equal(t, filepath.Base(e.Path), e.Name)
		all = append(all, e.Path)
	}
	return all
}

func TestBestFilesComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // git and the walk have time limits
		dir := tree(t, "main.go", "server/domain.go", "main/x.txt", "my/art/in.c", "docs/Main-Page.md", ".main", "unrelated")
		var f workspace.Files
		assert.Equal(t, []string{
			"main.go", "docs/Main-Page.md", // prefix of the name
			"server/domain.go", // part of the name
			"main/x.txt",       // part of the path
			"my/art/in.c",      // letters in order
			".main",            // hidden
		}, paths(t, &f, dir, "main"))
		assert.Equal(t, []string{"main.go", "server/domain.go"}, paths(t, &f, dir, "MGO"))
		assert.Equal(t, []string{"docs/Main-Page.md"}, paths(t, &f, dir, "docs/mp"))
		assert.Empty(t, paths(t, &f, dir, "niam"))
		assert.Empty(t, paths(t, &f, dir, "\uFFFD"))
		assert.Len(t, paths(t, &f, dir, ""), 7, "all")
		assert.Equal(t, "main.go", paths(t, &f, dir, "")[0])
	})
}

func TestIgnoredFilesAreOmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // git and the walk have time limits
		dir := repository(t, "a.txt", "gone.txt", "new/")
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("out/\n"), 0o600))
		for _, name := range []string{"new/b.txt", "out/c.txt"} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
		}
		require.NoError(t, os.Remove(filepath.Join(dir, "gone.txt")))
		var f workspace.Files
		assert.Equal(t, []string{"a.txt", "new/b.txt"}, paths(t, &f, dir, "txt"))
		assert.Equal(t, []string{"b.txt"}, paths(t, &f, filepath.Join(dir, "new"), "txt"), "paths are relative to the directory")
		assert.Equal(t, []string{"c.txt"}, paths(t, &f, filepath.Join(dir, "out"), ""), "an ignored directory lists its files")
	})
}

func TestLinksAreNotFollowedOutOfTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // git and the walk have time limits
		outside := tree(t, "secret.txt", "below/secret.txt")
		for name, dir := range map[string]string{"walked": tree(t, "real.txt"), "git": repository(t, "real.txt")} {
			for link, target := range map[string]string{
				"in.txt": "real.txt", "out.txt": filepath.Join(outside, "secret.txt"), "up.txt": "../../etc/hosts", "dir.txt": filepath.Join(outside, "below"),
			} {
				require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
			}
			var f workspace.Files
			assert.Equal(t, []string{"in.txt", "real.txt"}, paths(t, &f, dir, "txt"), name)
		}
	})
}

func TestFileListIsCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := tree(t, "a.txt")
		var f workspace.Files
		assert.Equal(t, []string{"a.txt"}, paths(t, &f, dir, "txt"))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "b.txt"), nil, 0o600))
		time.Sleep(4 * time.Second)
		assert.Equal(t, []string{"a.txt"}, paths(t, &f, dir, "txt"))
		time.Sleep(2 * time.Second)
		assert.Equal(t, []string{"a.txt", "b.txt"}, paths(t, &f, dir, "txt"))
	})
}

func TestFileListIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // git and the walk have time limits
		var all []string
		for i := range 3 * workspace.MaxEntries {
			all = append(all, fmt.Sprintf("%c/%d", 'a'+i%3, i))
		}
		var f workspace.Files
		list, more, err := f.Complete(tree(t, all...), "")
		require.NoError(t, err)
		assert.True(t, more)
		assert.Len(t, list, workspace.MaxEntries)
	})
}

func TestMissingDirectoryIsNamed(t *testing.T) {
	var f workspace.Files
	_, _, err := f.Complete(filepath.Join(t.TempDir(), "gone"), "")
	require.ErrorIs(t, err, fault.ErrDirectoryNotFound)
	assert.Contains(t, err.Error(), "gone")
}

func BenchmarkFiles(b *testing.B) {
	dir := b.TempDir()
	for i := range 20_000 {
		if i%200 == 0 {
			require.NoError(b, os.MkdirAll(filepath.Join(dir, fmt.Sprint("package", i/200)), 0o700))
		}
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprint("package", i/200), fmt.Sprint("file", i, ".go")), nil, 0o600))
	}
	var f workspace.Files
	for b.Loop() {
		_, _, err := f.Complete(dir, "pf7")
		require.NoError(b, err)
	}
}
