package checkpoint

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/fault"
)

// undoable returns the newest action that is not undone, or that with an id, which may itself be an undo.
func undoable(list []Checkpoint, id string) *Checkpoint {
	undone := map[string]bool{}
	for i := range slices.Backward(list) {
		c := &list[i]
		switch {
		case c.action == nil || undone[c.action.ID]:
			continue
		case id != "" && c.action.ID == id, id == "" && c.action.Kind != Undo:
			return c
		}
		undone[c.action.Undoes] = true
	}
	return nil
}

// Undo takes back a restore, a revert or an undo, or the newest restore or revert for undoes "". Later changes of other lines
// stay. Errors, after which nothing has changed: kind [fault.NotFound] if there is nothing to undo, [ErrConflict].
func (s *Store) Undo(ctx context.Context, a Action, id, undoes string) (Restored, error) {
	return s.restore(ctx, func(u *use, now snapshot) (Restored, error) {
		list, err := u.checkpoints(ctx, a.Session)
		if err != nil {
			return Restored{}, err
		}
		c := undoable(list, undoes)
		if c == nil {
			return Restored{}, fault.Errorf(fault.NotFound, "there is nothing to undo")
		}
		a.Kind, a.Run, a.Undoes = Undo, c.action.Run, c.action.ID
		before := *c
		before.tree = c.commit + "^^{tree}"
		m, err := u.merging(ctx, before, *c, now, c.tree)
		if err != nil {
			return Restored{}, err
		}
		defer m.close()
		return m.revert(ctx, a, id, before.tree, c.tree, Selection{})
	})
}
