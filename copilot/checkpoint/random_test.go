package checkpoint_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/git/gittest"
)

// editor edits files at random, as an agent or a person does.
type editor struct {
	*rand.Rand
	t    *testing.T
	dir  string
	done int // restores and reverts that changed something
}

// names are paths that an editor uses; some cannot exist together.
var names = []string{
	"a.txt", "b.txt", "with space", "line\nbreak", "tab\t\"quote\"", "ünïcode", "-dash", "dir/a", "dir/b/c", "dir", "dir/b", "x/y/z", ":(glob)*", "back\\slash", "\xff\xfe",
}

// name returns a path that leads through no link: one may lead out of the directory.
func (e *editor) name() string {
	name := filepath.Join(e.dir, names[e.IntN(len(names))])
	for dir := filepath.Dir(name); dir != e.dir; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			_ = os.Remove(dir)
		}
	}
	return name
}

func (e *editor) content() string {
	switch e.IntN(8) {
	case 0:
		return ""
	case 1:
		return "\x00binary\xff" + fmt.Sprint(e.Int())
	case 2:
		return strings.Repeat("x", 12_000) // above the limit
	}
	end := []string{"\n", "\r\n"}[e.IntN(2)]
	var text strings.Builder
	for i := range 5 + e.IntN(30) {
		fmt.Fprintf(&text, "line %d%s", i, end)
	}
	return text.String()
}

// edit makes one change. It clears the way first.
func (e *editor) edit() {
	name := e.name()
	switch e.IntN(8) {
	case 0:
		_ = os.RemoveAll(name)
	case 1:
		_ = os.Rename(name, e.name())
	case 2:
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(name, []os.FileMode{0o644, 0o755, 0o600, 0o700}[e.IntN(4)])
		}
	case 3:
		e.clear(name)
		_ = os.Symlink([]string{"a.txt", "/etc/passwd", "../..", "missing"}[e.IntN(4)], name)
	case 4, 5:
		e.change(name)
	default:
		e.clear(name)
		_ = os.WriteFile(name, []byte(e.content()), 0o644)
	}
}

func (e *editor) clear(name string) {
	_ = os.RemoveAll(name)
	for dir := filepath.Dir(name); dir != e.dir; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			_ = os.Remove(dir)
		}
	}
	_ = os.MkdirAll(filepath.Dir(name), 0o755)
}

// change changes lines of a file.
func (e *editor) change(name string) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	data, err := os.ReadFile(name)
	require.NoError(e.t, err)
	lines := strings.SplitAfter(string(data), "\n")
	i := e.IntN(len(lines))
	lines[i] = fmt.Sprintf("changed %d\n", e.Int())
	require.NoError(e.t, os.WriteFile(name, []byte(strings.Join(lines, "")), info.Mode().Perm()))
}

func (e *editor) work() {
	for range 1 + e.IntN(6) {
		e.edit()
	}
}

// covered returns a state without what a checkpoint does not contain.
func covered(state map[string]string, lists ...[]checkpoint.Uncovered) map[string]string {
	state = maps.Clone(state)
	for _, list := range lists {
		for _, u := range list {
			delete(state, u.Path)
			maps.DeleteFunc(state, func(name, _ string) bool { return strings.HasPrefix(name, u.Path+"/") })
		}
	}
	return state
}

func seeds(n int) []uint64 {
	if text := os.Getenv("PORTAL_SEED"); text != "" {
		var seed uint64
		_, _ = fmt.Sscan(text, &seed)
		return []uint64{seed}
	}
	first := uint64(1)
	if os.Getenv("PORTAL_SOAK") != "" {
		n, first = 10*n, rand.Uint64()>>1
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = first + uint64(i)
	}
	return list
}

// withModule returns a repository that converts line ends, with a submodule that has changes of its own.
func withModule(t *testing.T) string {
	t.Helper()
	dir, module := repository(t), repository(t)
	gittest.Run(t, dir, "submodule", "--quiet", "add", module, "module")
	gittest.Run(t, dir, "commit", "-q", "-m", "module")
	write(t, dir, "module/untracked", "u")
	write(t, dir, ".gitignore", "*.log\n")
	write(t, dir, "x.log", "ignored")
	gittest.Run(t, dir, "config", "core.autocrlf", "true")
	write(t, dir, ".gitattributes", "*.txt text eol=crlf\ndir/** text=auto\n")
	return dir
}

func TestRandomEditsAreRestoredByteForByte(t *testing.T) {
	for i, seed := range seeds(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			e := &editor{Rand: rand.New(rand.NewPCG(seed, 0)), t: t, dir: withModule(t)}
			if i%2 == 1 {
				e.dir = filepath.Join(e.dir, "below top")
				require.NoError(t, os.Mkdir(e.dir, 0o755))
			}
			if i%20 == 19 { // make soak
				for f := range 10_000 {
					write(t, e.dir, fmt.Sprintf("many/%d/%d", f%100, f), fmt.Sprint(f))
				}
			}
			s := open(t, e.dir)
			for i := range 6 {
				e.work() // the person
				from, before := take(t, s, fmt.Sprint(i, "from")), stateOf(t, e.dir)
				e.work() // the agent
				to, after := take(t, s, fmt.Sprint(i, "to")), stateOf(t, e.dir)
				uncovered := [][]checkpoint.Uncovered{from.Uncovered, to.Uncovered}

				e.restoreAndUndo(s, from, before, after, uncovered, i)
				e.revertAndUndo(s, from, to, before, after, uncovered, i)
				e.revertLater(s, from, to, i)
			}
			assert.Positive(t, e.done, "conflicts must not be all that was tested")
		})
	}
}

// restoreAndUndo restores the state of a checkpoint and undoes that.
func (e *editor) restoreAndUndo(s *checkpoint.Store, from checkpoint.Checkpoint, before, after map[string]string, uncovered [][]checkpoint.Uncovered, i int) {
	r, err := s.Restore(e.t.Context(), revertAction, fmt.Sprint(i, "restore"), from)
	if errors.Is(err, checkpoint.ErrConflict) {
		assertState(e.t, after, stateOf(e.t, e.dir))
		return // a large file is in the way
	}
	require.NoError(e.t, err)
	assert.Empty(e.t, r.Left)
	assertState(e.t, covered(before, uncovered...), covered(stateOf(e.t, e.dir), uncovered...))
	if r.ID != "" {
		e.done++
		_, err = s.Undo(e.t.Context(), revertAction, fmt.Sprint(i, "undo"), "")
		require.NoError(e.t, err)
	}
	assertState(e.t, after, stateOf(e.t, e.dir))
}

// revertAndUndo takes back changes after which nothing was changed.
func (e *editor) revertAndUndo(s *checkpoint.Store, from, to checkpoint.Checkpoint, before, after map[string]string, uncovered [][]checkpoint.Uncovered, i int) {
	r, err := s.Revert(e.t.Context(), revertAction, fmt.Sprint(i, "revert"), from, to, checkpoint.Selection{})
	if errors.Is(err, checkpoint.ErrConflict) {
		assert.NotEmpty(e.t, slices.Concat(uncovered...), "%v", err)
		assertState(e.t, after, stateOf(e.t, e.dir))
		return
	}
	require.NoError(e.t, err)
	if r.ID == "" {
		assertState(e.t, covered(before, uncovered...), covered(after, uncovered...))
		return
	}
	e.done++
	assertState(e.t, covered(before, uncovered...), covered(stateOf(e.t, e.dir), uncovered...))
	_, err = s.Undo(e.t.Context(), revertAction, fmt.Sprint(i, "undo revert"), "")
	require.NoError(e.t, err)
	assertState(e.t, after, stateOf(e.t, e.dir))
}

// revertLater takes back changes after the person has made others: files that only the person changed stay, and if
// nothing is in conflict, undo brings everything back.
func (e *editor) revertLater(s *checkpoint.Store, from, to checkpoint.Checkpoint, i int) {
	e.work()
	later := stateOf(e.t, e.dir)
	r, err := s.Revert(e.t.Context(), revertAction, fmt.Sprint(i, "later"), from, to, checkpoint.Selection{})
	if errors.Is(err, checkpoint.ErrConflict) {
		assertState(e.t, later, stateOf(e.t, e.dir))
		return
	}
	require.NoError(e.t, err)
	touched := map[string]bool{}
	for _, f := range r.Files {
		touched[f.Path] = true
	}
	now := stateOf(e.t, e.dir)
	for name, content := range later {
		if !touched[name] {
			assert.Equal(e.t, content, now[name], "%q", name)
		}
	}
	if r.ID != "" {
		_, err = s.Undo(e.t.Context(), revertAction, fmt.Sprint(i, "undo later"), "")
		require.NoError(e.t, err)
		assertState(e.t, later, stateOf(e.t, e.dir))
	}
}
