package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

func TestFileThatWasExcludedIsNotDeleted(t *testing.T) {
	dir := repository(t)
	write(t, dir, ".gitignore", "*.log\nbuild/\n")
	write(t, dir, "x.log", "mine")
	write(t, dir, "build/x", "mine")
	s := open(t, dir)
	a := take(t, s, "a")
	write(t, dir, ".gitignore", "")
	write(t, dir, "new", "n")
	b := take(t, s, "b")
	_, err := s.Revert(t.Context(), revertAction, "r", a, b, checkpoint.Selection{})
	require.NoError(t, err)
	assert.Equal(t, "mine", read(t, dir, "x.log"))
	assert.Equal(t, "mine", read(t, dir, "build/x"))
	assert.Equal(t, "*.log\nbuild/\n", read(t, dir, ".gitignore"))
	assert.NoFileExists(t, filepath.Join(dir, "new"))
}

// TestFileThatWasExcludedFromOutsideIsNotDeleted covers rules that are not in the checkpoint's tree, and files that git tracks
// although rules exclude them.
func TestFileThatWasExcludedFromOutsideIsNotDeleted(t *testing.T) {
	config := filepath.Join(t.TempDir(), "gitconfig")
	ignore := filepath.Join(t.TempDir(), "ignore")
	write(t, filepath.Dir(config), filepath.Base(config), "[core]\n\texcludesFile = "+ignore+"\n")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	for name, c := range map[string]struct {
		rules, below string
		uncover      func(top string)
	}{
		"tracked by force":         {"top", "", func(top string) { gittest.Run(t, top, "add", "--force", "build/mine") }},
		"tracked by force below":   {"top", "sub/dir", func(top string) { gittest.Run(t, top, "add", "--force", "sub/dir/build/mine") }},
		"ignore file above":        {"top", "sub/dir", func(top string) { write(t, top, ".gitignore", "") }},
		"ignore file in between":   {"sub", "sub/dir", func(top string) { remove(t, top, "sub/.gitignore") }},
		"exclude file":             {".git/info/exclude", "", func(top string) { remove(t, top, ".git/info/exclude") }},
		"exclude file below":       {".git/info/exclude", "sub", func(top string) { write(t, top, ".git/info/exclude", "!build\n") }},
		"exclude file of the user": {"user", "sub", func(string) { write(t, filepath.Dir(ignore), filepath.Base(ignore), "") }},
	} {
		t.Run(name, func(t *testing.T) {
			top := repository(t)
			write(t, filepath.Dir(ignore), filepath.Base(ignore), "")
			switch c.rules {
			case "top":
				write(t, top, ".gitignore", "build\n")
			case "sub":
				write(t, top, "sub/.gitignore", "build\n")
			case "user":
				write(t, filepath.Dir(ignore), filepath.Base(ignore), "build\n")
			default:
				write(t, top, c.rules, "build\n")
			}
			dir := filepath.Join(top, c.below)
			write(t, dir, "build/mine", "mine")
			s := open(t, dir)
			a := take(t, s, "a")
			assert.Empty(t, changesOf(t, s, a, checkpoint.Checkpoint{}))
			c.uncover(top)
			write(t, dir, "new", "n")
			b := take(t, s, "b")
			require.Contains(t, summary(changesOf(t, s, a, b)), `added "build/mine" +1 -0`)

			_, err := s.Revert(t.Context(), revertAction, "file", a, b, checkpoint.Selection{Path: "build/mine"})
			require.ErrorIs(t, err, checkpoint.ErrConflict)
			joined := checkpoint.Span{}
			require.NoError(t, s.View(t.Context(), func(v *checkpoint.View) (err error) {
				joined, _, err = v.Join(t.Context(), []checkpoint.Span{{From: a, To: b}, {From: b}})
				return err
			}))
			_, err = s.Revert(t.Context(), revertAction, "joined", joined.From, joined.To, checkpoint.Selection{})
			require.NoError(t, err)
			assert.Equal(t, "mine", read(t, dir, "build/mine"))
			assert.NoFileExists(t, filepath.Join(dir, "new"))
			write(t, dir, "new", "n")
			_, err = s.Restore(t.Context(), revertAction, "restore", listOf(t, s, session)[0])
			require.NoError(t, err)
			assert.Equal(t, "mine", read(t, dir, "build/mine"))
			assert.NoFileExists(t, filepath.Join(dir, "new"))
		})
	}
}

func TestLostIndexDeletesNoFiles(t *testing.T) {
	for _, below := range []string{"", "sub/dir"} {
		top, root := repository(t), t.TempDir()
		dir := filepath.Join(top, below)
		write(t, dir, "x.log", "mine")
		write(t, dir, "large", "small")
		stores := checkpoint.New(checkpoint.Options{Root: root, File: 100})
		defer stores.Close()
		s, err := stores.Of(dir)
		require.NoError(t, err)
		take(t, s, "a")
		write(t, dir, ".gitignore", "*.log\n")
		write(t, dir, "new", "n")
		b := take(t, s, "b")

		indexes, err := filepath.Glob(filepath.Join(root, "*", "index"))
		require.NoError(t, err)
		require.Len(t, indexes, 1)
		require.NoError(t, os.Remove(indexes[0]))
		write(t, dir, "new", "changed")
		write(t, dir, "large", strings.Repeat("x", 200))
		c := take(t, s, "c")
		assert.Equal(t, []string{`deleted "large" +0 -1`, `modified "new" +1 -1`}, summary(changesOf(t, s, b, c)))

		require.NoError(t, os.WriteFile(indexes[0], []byte("no index"), 0o600))
		d := take(t, s, "d")
		assert.Empty(t, changesOf(t, s, c, d), "a damaged index is replaced")

		impatient := checkpoint.New(checkpoint.Options{Root: root, Time: time.Nanosecond})
		defer impatient.Close()
		s, err = impatient.Of(dir)
		require.NoError(t, err)
		index := read(t, "", indexes[0])
		_, err = s.Take(t.Context(), session, "e")
		require.ErrorContains(t, err, "takes longer")
		assert.Equal(t, index, read(t, "", indexes[0]), "a cancelled snapshot keeps the index")
	}
}
