package checkpoint_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

const session = "s1"

// open returns the store of a directory, with small limits.
func open(tb testing.TB, dir string) *checkpoint.Store {
	tb.Helper()
	s := checkpoint.New(checkpoint.Options{Root: filepath.Join(tb.TempDir(), "checkpoints"), File: 10_000})
	tb.Cleanup(s.Close)
	store, err := s.Of(dir)
	require.NoError(tb, err)
	return store
}

// openIn returns the store of a directory, and the stores that it is one of, which are kept in root.
func openIn(tb testing.TB, root, dir string) (*checkpoint.Stores, *checkpoint.Store) {
	tb.Helper()
	stores := checkpoint.New(checkpoint.Options{Root: root})
	tb.Cleanup(stores.Close)
	s, err := stores.Of(dir)
	require.NoError(tb, err)
	return stores, s
}

// repository returns a repository with a commit.
func repository(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	require.NoError(tb, err)
	gittest.Run(tb, dir, "init", "-q", "-b", "trunk")
	write(tb, dir, "a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n")
	gittest.Run(tb, dir, "add", ".")
	gittest.Run(tb, dir, "commit", "-q", "-m", "first")
	return dir
}

func write(tb testing.TB, dir, name, text string) {
	tb.Helper()
	path := filepath.Join(dir, name)
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
}

func read(tb testing.TB, dir, name string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(tb, err)
	return string(data)
}

func remove(tb testing.TB, dir, name string) {
	tb.Helper()
	require.NoError(tb, os.RemoveAll(filepath.Join(dir, name)))
}

// recoverIn returns what the stores restored for killed processes.
func recoverIn(tb testing.TB, stores *checkpoint.Stores) (done []checkpoint.Restored, err error) {
	tb.Helper()
	err = stores.Recover(tb.Context(), func(r checkpoint.Restored) error {
		done = append(done, r)
		return nil
	})
	return done, err
}

func take(tb testing.TB, s *checkpoint.Store, name string) checkpoint.Checkpoint {
	tb.Helper()
	c, err := s.Take(tb.Context(), session, name)
	require.NoError(tb, err)
	return c
}

var revertAction = checkpoint.Action{Session: session, Kind: checkpoint.Revert, By: "test"}

// stateOf returns all files below a directory but those of .git, with their contents and whether they are executable.
func stateOf(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	state := map[string]string{}
	require.NoError(tb, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil || d.Name() == ".git" {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			state[name] = "link " + target
			return err
		}
		data, err := os.ReadFile(path)
		state[name] = fmt.Sprintf("%t %q", info.Mode()&0o100 != 0, data)
		return err
	}))
	return state
}

// gitState returns everything of the user's repository that must not change.
func gitState(tb testing.TB, dir string) string {
	tb.Helper()
	var all strings.Builder
	require.NoError(tb, filepath.WalkDir(filepath.Join(dir, ".git"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, data)
		return err
	}))
	return all.String()
}

func summary(changes []checkpoint.Change) (list []string) {
	for _, c := range changes {
		text := fmt.Sprintf("%s %q +%d -%d", c.Status, c.Path, c.Added, c.Removed)
		if c.OldPath != "" {
			text += fmt.Sprintf(" from %q", c.OldPath)
		}
		if c.Binary {
			text += " binary"
		}
		list = append(list, text)
	}
	return list
}

// assertState compares states, and names only the files that differ.
func assertState(tb testing.TB, want, got map[string]string) {
	tb.Helper()
	var differ []string
	for name := range want {
		if content, ok := got[name]; !ok || content != want[name] {
			differ = append(differ, fmt.Sprintf("%q: want %.90s, got %.90s", name, want[name], content))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			differ = append(differ, fmt.Sprintf("%q: want none, got %.90s", name, got[name]))
		}
	}
	assert.Empty(tb, differ)
}

// changesOf returns the changes between two checkpoints; the zero Checkpoint means now.
func changesOf(tb testing.TB, s *checkpoint.Store, from, to checkpoint.Checkpoint) (list []checkpoint.Change) {
	tb.Helper()
	require.NoError(tb, s.View(tb.Context(), func(v *checkpoint.View) (err error) {
		list, err = v.Changes(tb.Context(), checkpoint.Span{From: from, To: to})
		return err
	}))
	return list
}

// diffOf returns the difference of a file between two checkpoints.
func diffOf(tb testing.TB, s *checkpoint.Store, from, to checkpoint.Checkpoint, path string) (d checkpoint.Diff) {
	tb.Helper()
	require.NoError(tb, s.View(tb.Context(), func(v *checkpoint.View) (err error) {
		d, err = v.Diff(tb.Context(), checkpoint.Span{From: from, To: to}, path)
		return err
	}))
	return d
}

// listOf returns the checkpoints of a session.
func listOf(tb testing.TB, s *checkpoint.Store, session string) (list []checkpoint.Checkpoint) {
	tb.Helper()
	require.NoError(tb, s.View(tb.Context(), func(v *checkpoint.View) (err error) {
		list, err = v.Checkpoints(tb.Context(), session)
		return err
	}))
	return list
}
