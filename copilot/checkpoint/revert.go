package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/git"
)

// Selection selects the changes to take back. The zero Selection selects all.
type Selection struct {
	Path string // one file, as [Change.Path]
	Hunk string // one hunk of it, as [Hunk.ID]
}

// Revert takes back the changes from one checkpoint to another and keeps later changes of other lines. The zero
// Checkpoint as to means the present state. id names what is restored; it must be new.
//
// Errors, after which nothing has changed: [ErrConflict], which names files whose later changes are in the way; kind
// [fault.NotFound] for a file or hunk that did not change.
func (s *Store) Revert(ctx context.Context, a Action, id string, from, to Checkpoint, which Selection) (Restored, error) {
	return s.restore(ctx, func(u *use, now snapshot) (Restored, error) {
		b := cmp.Or(to.tree, now.Tree)
		m, err := u.merging(ctx, from, to, now, b)
		if err != nil {
			return Restored{}, err
		}
		defer m.close()
		if err := m.keepHidden(ctx, from); err != nil {
			return Restored{}, err
		}
		return m.revert(ctx, a, id, from.tree, b, which)
	})
}

// Restore makes files what they were at a checkpoint, whatever changed since: those with the given paths, or all. A
// directory as a path means all files below it. Errors, after which nothing has changed: [ErrConflict].
func (s *Store) Restore(ctx context.Context, a Action, id string, to Checkpoint, paths ...string) (Restored, error) {
	return s.restore(ctx, func(u *use, now snapshot) (Restored, error) {
		m, err := u.merging(ctx, to, Checkpoint{}, now, now.Tree)
		if err != nil {
			return Restored{}, err
		}
		defer m.close()
		if err := m.keepHidden(ctx, to); err != nil {
			return Restored{}, err
		}
		changes, err := u.compare(ctx, now.Tree, to.tree, noRenames, paths...)
		if err != nil {
			return Restored{}, err
		}
		for _, c := range changes {
			if !m.isHidden(c.Path, c.To) {
				m.add(c.Path, c.From, c.To)
			}
		}
		return u.execute(ctx, a, id, now, m.steps)
	})
}

// restore takes a snapshot of the present state and calls do.
func (s *Store) restore(ctx context.Context, do func(*use, snapshot) (Restored, error)) (Restored, error) {
	u, end, err := s.begin(ctx)
	if err != nil {
		return Restored{}, err
	}
	defer end()
	now, err := u.snapshot(ctx)
	if err != nil {
		return Restored{}, unavailable(err)
	}
	return do(u, now)
}

// merging computes the steps that take back changes.
type merging struct {
	*use
	now       snapshot
	present   map[string]Entry // files that differ from the later state of the changes
	uncovered map[string]bool  // what one of the states does not contain
	more      bool             // the earlier state does not contain other files, either
	hides     map[string]bool  // files that the earlier state does not contain because they were excluded
	perms     map[string]os.FileMode
	steps     []step
	conflicts []string
	objects   *git.Objects
	temp      string
}

// merging starts to compute steps. to is the later state of the changes, with the tree b. The caller must call close.
func (u *use) merging(ctx context.Context, from, to Checkpoint, now snapshot, b string) (*merging, error) {
	m := &merging{use: u, now: now, present: map[string]Entry{}, uncovered: map[string]bool{}, perms: from.perms}
	for _, list := range [][]Uncovered{from.Uncovered, to.Uncovered, now.Uncovered} {
		for _, item := range list {
			m.uncovered[item.Path] = true
		}
	}
	since, err := u.compare(ctx, b, now.Tree, noRenames)
	if err != nil {
		return nil, err
	}
	for _, c := range since {
		m.present[c.Path] = c.To
	}
	if m.temp, err = os.MkdirTemp(u.dir, "merge-"); err != nil {
		return nil, unavailable(err)
	}
	if m.objects, err = u.shadow.Objects(ctx); err != nil {
		_ = os.Remove(m.temp) // a leftover is harmless
		return nil, unavailable(err)
	}
	return m, nil
}

// keepHidden finds the files that may have existed in the earlier state although that does not contain them: they stay. After a
// restore, an undo needs it not: the state before was complete.
func (m *merging) keepHidden(ctx context.Context, from Checkpoint) (err error) {
	m.more = from.more
	m.hides, err = m.hidden(ctx, from, m.now.Tree)
	return err
}

func (m *merging) close() {
	m.objects.Close()
	_ = os.RemoveAll(m.temp) // a leftover is harmless
}

// revert takes back the changes from tree a to tree b.
func (m *merging) revert(ctx context.Context, action Action, id, a, b string, which Selection) (Restored, error) {
	changes, err := m.compare(ctx, a, b, renames)
	if err != nil {
		return Restored{}, err
	}
	if which.Path != "" {
		changes = slices.DeleteFunc(changes, func(c Change) bool { return c.Path != which.Path })
		if len(changes) == 0 {
			return Restored{}, errUnchanged(which.Path)
		}
	}
	var excluded []string
	for _, c := range changes {
		c = m.coveredPart(c, which)
		before := c.From
		if c.OldPath != "" {
			before = Entry{}
		}
		if m.isHidden(c.Path, before) || m.isUncovered(c.old()) {
			excluded = append(excluded, c.Path)
			continue
		}
		if err := m.takeBack(ctx, a, b, c, which.Hunk); err != nil {
			return Restored{}, err
		}
	}
	switch {
	case len(m.conflicts) > 0:
		return Restored{}, conflict("later changes of the same lines are in the way", m.conflicts)
	case len(m.steps) == 0 && len(excluded) > 0:
		return Restored{}, conflict("the checkpoints do not contain these files", excluded)
	}
	return m.execute(ctx, action, id, m.now, m.steps)
}

// coveredPart turns a rename into an addition or a deletion if the other name belongs to a file that is not covered, which stays.
func (m *merging) coveredPart(c Change, which Selection) Change {
	switch {
	case c.OldPath == "" || which.Hunk != "":
	case m.isUncovered(c.OldPath):
		return Change{Path: c.Path, Status: Added, To: c.To}
	case m.isHidden(c.Path, Entry{}):
		return Change{Path: c.OldPath, Status: Deleted, From: c.From}
	}
	return c
}

// isHidden reports whether a file that the earlier state contains as given may have existed then with another content.
func (m *merging) isHidden(p string, before Entry) bool {
	return m.isUncovered(p) || before == Entry{} && (m.more || m.hides[p])
}

// isUncovered reports whether a file, or a directory above it, is missing in one of the states.
func (m *merging) isUncovered(p string) bool {
	if m.uncovered[p] {
		return true
	}
	for i := strings.LastIndexByte(p, '/'); i > 0; i = strings.LastIndexByte(p[:i], '/') {
		if m.uncovered[p[:i]] {
			return true
		}
	}
	return false
}

// at returns what a file is now, which was as given in the later state of the changes.
func (m *merging) at(p string, then Entry) Entry {
	if now, ok := m.present[p]; ok {
		return now
	}
	return then
}

func (m *merging) add(p string, from, to Entry) {
	if from != to && !m.isPrivate(p) {
		m.steps = append(m.steps, step{Path: p, From: from, To: to, Perm: permOf(m.perms, p, to)})
	}
}

// takeBack adds the steps that take back one change, or one hunk of it, or a conflict.
func (m *merging) takeBack(ctx context.Context, a, b string, c Change, hunk string) error {
	ours, theirs := m.at(c.Path, c.To), c.From
	if hunk != "" {
		d, err := m.diff(ctx, a, b, c.Path)
		if err != nil {
			return err
		}
		if theirs, err = m.withoutHunk(ctx, d, hunk); err != nil {
			return err
		}
	}
	if c.Status == Renamed && hunk == "" {
		return m.takeBackRename(ctx, c, ours)
	}
	to, ok, err := m.merge(ctx, ours, c.To, theirs)
	if !ok {
		m.conflicts = append(m.conflicts, c.Path)
		return err
	}
	m.add(c.Path, ours, to)
	return err
}

// takeBackRename gives a file its old name back, with later changes of other lines.
func (m *merging) takeBackRename(ctx context.Context, c Change, ours Entry) error {
	old := m.at(c.OldPath, Entry{})
	if old == c.From && (ours == Entry{}) {
		return nil // it has it already
	}
	to, ok, err := m.merge(ctx, ours, c.To, c.From)
	if !ok || (old != Entry{}) || (ours == Entry{}) {
		m.conflicts = append(m.conflicts, c.Path)
		return err
	}
	m.add(c.Path, ours, Entry{})
	m.add(c.OldPath, Entry{}, to)
	return err
}

// merge returns what becomes of a file that is ours now, if the change from theirs to base is taken back; ok is false if
// that is in conflict with the change from base to ours.
func (m *merging) merge(ctx context.Context, ours, base, theirs Entry) (result Entry, ok bool, err error) {
	switch {
	case ours == base:
		return theirs, true, nil
	case ours == theirs || base == theirs:
		return ours, true, nil
	case ours == Entry{} || base == Entry{} || theirs == Entry{}:
		return Entry{}, false, nil
	}
	mode, ok := mergeOne(ours.Mode, base.Mode, theirs.Mode)
	if !ok || ours.isLink() || base.isLink() || theirs.isLink() {
		return Entry{}, false, nil
	}
	object, ok := mergeOne(ours.Object, base.Object, theirs.Object)
	if !ok {
		object, ok, err = m.mergeContents(ctx, ours.Object, base.Object, theirs.Object)
	}
	return Entry{mode, object}, ok, err
}

// mergeOne merges values that have no parts.
func mergeOne(ours, base, theirs string) (string, bool) {
	switch {
	case ours == base:
		return theirs, true
	case theirs == base, ours == theirs:
		return ours, true
	}
	return "", false
}

// mergeContents merges texts by lines.
func (m *merging) mergeContents(ctx context.Context, objects ...string) (object string, ok bool, err error) {
	args := []string{"merge-file", "--stdout", "--quiet"}
	for i, o := range objects {
		name := filepath.Join(m.temp, []string{"ours", "base", "theirs"}[i])
		if err := extract(m.objects, name, o); err != nil {
			return "", false, unavailable(err)
		}
		args = append(args, name)
	}
	merged, err := m.shadow.Run(ctx, git.Call{Args: args})
	var failed *git.Error
	if errors.As(err, &failed) { // conflicts, or no texts
		return "", false, nil
	}
	if err != nil {
		return "", false, unavailable(err)
	}
	e, err := m.store(ctx, merged, "")
	return e.Object, err == nil, err
}

// store stores a content.
func (u *use) store(ctx context.Context, content []byte, mode string) (Entry, error) {
	object, err := u.call(ctx, git.Call{Args: []string{"hash-object", "-w", "--stdin", "--no-filters"}, Input: bytes.NewReader(content)})
	if err != nil {
		return Entry{}, unavailable(err)
	}
	return Entry{mode, object}, nil
}

// withoutHunk stores and returns the later state of a file without the changes of a hunk.
func (m *merging) withoutHunk(ctx context.Context, d Diff, hunk string) (Entry, error) {
	i := slices.IndexFunc(d.Hunks, func(h Hunk) bool { return h.ID == hunk })
	switch {
	case i < 0 || d.From.isLink() != d.To.isLink():
		return Entry{}, fault.Errorf(fault.NotFound, "the file %q has no such change: load its changes again", d.Path)
	case len(d.Hunks) == 1 && d.Status != Renamed && d.From.Mode != d.To.Mode:
		return d.From, nil // there is no file on one side, or the mode belongs to the change
	}
	var content bytes.Buffer
	if err := m.objects.Read(&content, d.To.Object); err != nil {
		return Entry{}, unavailable(err)
	}
	return m.store(ctx, d.Hunks[i].takeBack(content.Bytes()), d.To.Mode)
}

// takeBack returns a content that has the hunk without its changes.
func (h Hunk) takeBack(content []byte) []byte {
	lines := bytes.SplitAfter(content, []byte("\n"))
	first := h.NewStart - 1
	if h.NewLines == 0 {
		first = h.NewStart // git names the line before
	}
	first = min(first, len(lines))
	var out bytes.Buffer
	out.Write(bytes.Join(lines[:first], nil))
	for _, l := range h.Lines {
		if l.Kind == '+' {
			continue
		}
		out.WriteString(l.Text)
		if !l.NoNewline {
			out.WriteByte('\n')
		}
	}
	out.Write(bytes.Join(lines[min(first+h.NewLines, len(lines)):], nil))
	return out.Bytes()
}
