package git_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

// shadow returns the shadow of a new directory.
func shadow(t *testing.T) *git.Shadow {
	t.Helper()
	dir := t.TempDir()
	s, err := git.NewShadow(t.Context(), filepath.Join(t.TempDir(), "git"), dir, git.Place{Top: dir})
	require.NoError(t, err)
	return s
}

func TestNamesThatDifferInCaseAreOneFileWhereTheFileSystemSaysSo(t *testing.T) {
	for folds, others := range map[bool]string{false: "A.TXT\n", true: ""} {
		dir := t.TempDir()
		s, err := git.NewShadow(t.Context(), filepath.Join(t.TempDir(), "git"), dir, git.Place{Top: dir, FoldsCase: folds})
		require.NoError(t, err)
		index := filepath.Join(t.TempDir(), "index")
		gittest.Write(t, dir, "a.txt", "x\n")
		_, err = s.Run(t.Context(), git.Call{Index: index, Args: []string{"update-index", "--add", "a.txt"}})
		require.NoError(t, err)
		gittest.Write(t, dir, "A.TXT", "x\n") // in a file system that folds, both names lead to one file
		out, err := s.Run(t.Context(), git.Call{Index: index, Args: []string{"ls-files", "--others", "--modified"}})
		require.NoError(t, err)
		assert.Equal(t, others, string(out))
	}
}

// stored stores a text and returns its object.
func stored(t *testing.T, s *git.Shadow, text string) string {
	t.Helper()
	out, err := s.Run(t.Context(), git.Call{Args: []string{"hash-object", "-w", "--stdin"}, Input: strings.NewReader(text)})
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// fullDisk accepts some bytes and then fails.
type fullDisk struct{ left int }

var errFull = errors.New("no space left")

func (w *fullDisk) Write(p []byte) (int, error) {
	n := min(w.left, len(p))
	w.left -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestObjectIsReadAfterAnotherCouldNotBeWritten(t *testing.T) {
	s := shadow(t)
	first, second := stored(t, s, strings.Repeat("first\n", 10_000)), stored(t, s, "second\n")
	objects, err := s.Objects(t.Context())
	require.NoError(t, err)
	defer objects.Close()
	require.ErrorIs(t, objects.Read(&fullDisk{100}, first), errFull)
	require.ErrorContains(t, objects.Read(&bytes.Buffer{}, strings.Repeat("1", 40)), "missing")
	var content bytes.Buffer
	require.NoError(t, objects.Read(&content, second))
	assert.Equal(t, "second\n", content.String())
}

func TestOnlyRequestedContentIsRead(t *testing.T) {
	s := shadow(t)
	content := stored(t, s, "text\n")
	objects, err := s.Objects(t.Context())
	require.NoError(t, err)
	defer objects.Close()
	tree, err := s.Run(t.Context(), git.Call{Args: []string{"mktree"}})
	require.NoError(t, err)
	require.ErrorContains(t, objects.Read(&bytes.Buffer{}, strings.TrimSpace(string(tree))), "tree")
	require.NoError(t, objects.Read(&bytes.Buffer{}, content))
	require.ErrorIs(t, objects.Read(&bytes.Buffer{}, content[:39]), git.ErrReader, "another id comes back")
	require.ErrorIs(t, objects.Read(&bytes.Buffer{}, content), git.ErrReader)
}
