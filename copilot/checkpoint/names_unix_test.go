//go:build unix

package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Names of a hostile repository may look like options, patterns of git, or several lines of its output.
func TestOddNamesAreOnlyNames(t *testing.T) {
	names := []string{
		"-rf", "--output=x", ":(top)*", ":/x", ":!a.txt", "*", "a?[b]", "two\nlines", "tab\there", "\x1b]0;title\a", `"quoted"`, `back\slash`, " blank ",
		"\xff\xfe", "\u202egpj", "sub/-x", "sub/..x", "$(touch x)", "`touch x`", "a;b", "HEAD", "refs/heads/trunk", "a => b", "{a => b}",
	}
	for _, odd := range names {
		dir := repository(t)
		write(t, dir, "other.txt", "other\n")
		write(t, dir, odd, "one\n")
		s := open(t, dir)
		a := take(t, s, "a")
		write(t, dir, odd, "two\n")
		write(t, dir, "other.txt", "changed\n")
		b := take(t, s, "b")
		paths := []string{}
		for _, change := range changesOf(t, s, a, b) {
			paths = append(paths, change.Path)
		}
		assert.ElementsMatch(t, []string{odd, "other.txt"}, paths, "%q", odd)
		diff := diffOf(t, s, a, b, odd)
		assert.Equal(t, odd, diff.Path)

		_, err := s.Restore(t.Context(), revertAction, "r", a, odd)
		require.NoError(t, err, "%q", odd)
		assert.Equal(t, "one\n", read(t, dir, odd), "%q", odd)
		assert.Equal(t, "changed\n", read(t, dir, "other.txt"), "%q names no other file", odd)
		_, err = s.Restore(t.Context(), revertAction, "all", a)
		require.NoError(t, err, "%q", odd)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, entries, 4, "nothing else was created: .git, a.txt, other.txt and %q", filepath.ToSlash(odd))
	}
}
