package checkpoint

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

// View reads a store while no other operation changes it. It is valid in the call of [Store.View] that created it.
type View struct {
	use *use
	now *snapshot // nil until the present state is needed
}

// View calls read with a view. Errors: that of read; those of [Store.Take].
func (s *Store) View(ctx context.Context, read func(*View) error) error {
	u, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	return read(&View{use: u})
}

// Checkpoints returns the checkpoints of a session, oldest first.
func (v *View) Checkpoints(ctx context.Context, session string) ([]Checkpoint, error) {
	return v.use.checkpoints(ctx, session)
}

// Undoable returns the newest restore or revert among the checkpoints of a session that is not undone; nil if there is none.
func Undoable(list []Checkpoint) *Restored {
	if c := undoable(list, ""); c != nil {
		return c.action
	}
	return nil
}

// Span is the time from one checkpoint to another; the zero Checkpoint at its end means the present.
type Span struct{ From, To Checkpoint }

// Changes returns the changes in a span by path.
func (v *View) Changes(ctx context.Context, s Span) ([]Change, error) {
	to, err := v.tree(ctx, s.To)
	if err != nil {
		return nil, err
	}
	if s.To.tree == "" || s.From.tree == to {
		return v.use.compare(ctx, s.From.tree, to, renames)
	}
	key := [2]string{s.From.tree, to}
	if list, ok := v.use.compared(key); ok {
		return list, nil
	}
	list, err := v.use.compare(ctx, s.From.tree, to, renames)
	if err == nil {
		v.use.keepCompared(key, list)
	}
	return list, err
}

// tree returns the tree of a checkpoint, or of the present state.
func (v *View) tree(ctx context.Context, c Checkpoint) (string, error) {
	if c.tree != "" {
		return c.tree, nil
	}
	now, err := v.present(ctx)
	return now.Tree, err
}

func (v *View) present(ctx context.Context) (snapshot, error) {
	if v.now == nil {
		now, err := v.use.snapshot(ctx)
		if err != nil {
			return snapshot{}, unavailable(err)
		}
		v.now = &now
	}
	return *v.now, nil
}

// Uncovered returns what the present state does not contain; at most 1,000 files.
func (v *View) Uncovered(ctx context.Context) ([]Uncovered, error) {
	now, err := v.present(ctx)
	return now.Uncovered, err
}

// Diff returns the difference of a file in a span. path is that of its [Change]. Error: kind [fault.NotFound] if it did not
// change.
func (v *View) Diff(ctx context.Context, s Span, path string) (Diff, error) {
	to, err := v.tree(ctx, s.To)
	if err != nil {
		return Diff{}, err
	}
	d, err := v.use.diff(ctx, s.From.tree, to, path)
	if err == nil {
		err = v.addStates(ctx, s, to, &d)
	}
	d.truncate(MaxLines)
	return d, err
}

// State is what became of a changed file after the change.
type State string

// The states.
const (
	Present  State = "present"  // it is as the change left it
	Reverted State = "reverted" // it is as before the change
	Edited   State = "edited"   // it is different from both
)

// States returns the present states of files that changed in a span.
func (v *View) States(ctx context.Context, s Span, changes []Change) ([]State, error) {
	to, err := v.tree(ctx, s.To)
	if err != nil {
		return nil, err
	}
	now, err := v.present(ctx)
	if err != nil {
		return nil, err
	}
	since, err := v.use.compare(ctx, to, now.Tree, noRenames)
	if err != nil {
		return nil, err
	}
	later := map[string]Entry{}
	for _, c := range since {
		later[c.Path] = c.To
	}
	states := make([]State, 0, len(changes))
	for _, c := range changes {
		states = append(states, c.state(later))
	}
	return states, nil
}

func (c Change) state(later map[string]Entry) State {
	now, changed := later[c.Path]
	back, moved := c.From, true
	if c.OldPath != "" {
		back, moved = Entry{}, later[c.OldPath] == c.From
	}
	switch {
	case !changed:
		return Present
	case now == back && moved:
		return Reverted
	}
	return Edited
}

// Join returns one span for several, oldest first: each file changes from what it was before the first of them that changed it
// to what it was after the last one. also has the paths of files that changed between these, too.
func (v *View) Join(ctx context.Context, spans []Span) (joined Span, also map[string]bool, err error) {
	first, last, also := map[string]Entry{}, map[string]Entry{}, map[string]bool{}
	var uncovered []Uncovered
	for _, s := range spans {
		changes, err := v.Changes(ctx, s)
		if err != nil {
			return Span{}, nil, err
		}
		for _, c := range changes {
			for path, e := range c.entries() {
				if before, known := last[path]; known && before != e[0] {
					also[path] = true
				}
				if _, known := first[path]; !known {
					first[path] = e[0]
				}
				last[path] = e[1]
			}
		}
		uncovered = append(append(uncovered, s.From.Uncovered...), s.To.Uncovered...)
	}
	slices.SortFunc(uncovered, func(a, b Uncovered) int { return strings.Compare(a.Path, b.Path) })
	uncovered = slices.Compact(uncovered)
	from, to, err := v.ends(ctx, spans, first, last)
	if err != nil {
		return Span{}, nil, unavailable(err)
	}
	joined.From, joined.To = assembled(from, uncovered), assembled(to, uncovered)
	if len(spans) > 0 {
		joined.From.perms, joined.From.parts = maps.Clone(spans[0].From.perms), slices.Clone(spans)
		joined.From.more = slices.ContainsFunc(spans, func(s Span) bool { return s.From.more })
	}
	return joined, also, err
}

// entries returns the paths of a change with their entries before and after it.
func (c Change) entries() map[string][2]Entry {
	if c.OldPath == "" {
		return map[string][2]Entry{c.Path: {c.From, c.To}}
	}
	return map[string][2]Entry{c.OldPath: {c.From, {}}, c.Path: {{}, c.To}}
}

// ends returns two trees: the present one with the contents that files had first, and with those that they had last.
func (v *View) ends(ctx context.Context, spans []Span, first, last map[string]Entry) (from, to string, err error) {
	now, err := v.present(ctx)
	if err != nil {
		return "", "", err
	}
	if start, adjoin := adjoining(spans, now.Tree); adjoin || len(first) == 0 {
		return cmp.Or(start, now.Tree), now.Tree, nil
	}
	if from, err = v.use.edited(ctx, now.Tree, first); err == nil {
		to, err = v.use.edited(ctx, now.Tree, last)
	}
	return from, to, err
}

// adjoining reports whether nothing has changed between spans and since the last one, and returns the tree at their start.
func adjoining(spans []Span, now string) (start string, adjoin bool) {
	start = now
	for _, s := range slices.Backward(spans) {
		if cmp.Or(s.To.tree, now) != start {
			return "", false
		}
		start = s.From.tree
	}
	return start, true
}

// assembled returns a checkpoint, without a commit, of a tree.
func assembled(tree string, uncovered []Uncovered) Checkpoint {
	return Checkpoint{Name: "assembled", Time: time.Now(), Uncovered: uncovered, tree: tree}
}

// Copy gives another session the checkpoints of a session that keep accepts, but not what was restored. It calls keep for one after
// another, oldest first.
func (s *Store) Copy(ctx context.Context, from, to string, keep func(Checkpoint) bool) error {
	u, end, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	list, err := u.checkpoints(ctx, from)
	for _, c := range list {
		if err == nil && c.action == nil && keep(c) {
			c.Session = to
			err = u.setRef(c)
		}
	}
	return err
}
