//go:build unix

package checkpoint_test

import (
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
	dir := repository(t)
	writeAll := func(text string) {
		for _, odd := range names {
			write(t, dir, odd, text)
		}
		write(t, dir, "other.txt", text)
	}
	s := open(t, dir)
	writeAll("one\n")
	first := stateOf(t, dir)
	a := take(t, s, "a")
	writeAll("two\n")
	b := take(t, s, "b")
	paths := []string{}
	for _, change := range changesOf(t, s, a, b) {
		paths = append(paths, change.Path)
	}
	assert.ElementsMatch(t, append([]string{"other.txt"}, names...), paths)

	want := stateOf(t, dir)
	for _, odd := range names {
		assert.Equal(t, odd, diffOf(t, s, a, b, odd).Path)
		_, err := s.Restore(t.Context(), revertAction, "r", a, odd)
		require.NoError(t, err, "%q", odd)
		want[odd] = first[odd]
		require.Equal(t, want, stateOf(t, dir), "%q names no other file, and nothing else was created", odd)
	}
	_, err := s.Restore(t.Context(), revertAction, "all", a)
	require.NoError(t, err)
	assert.Equal(t, first, stateOf(t, dir), "nothing else was created")
}
