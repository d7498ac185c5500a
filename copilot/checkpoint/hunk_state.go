package checkpoint

import (
	"context"

	"github.com/copilot-portal/portal/copilot/fault"
)

// maxHunkStates is the number of hunks of an edited file whose states are found out: each takes a process of git.
const maxHunkStates = 50

// addStates finds out what became of the hunks of a difference to tree b.
func (v *View) addStates(ctx context.Context, s Span, b string, d *Diff) error {
	states, err := v.States(ctx, s, []Change{d.Change})
	if err != nil || len(d.Hunks) == 0 {
		return err
	}
	for i := range d.Hunks {
		d.Hunks[i].State = states[0]
	}
	if states[0] != Edited || len(d.Hunks) > maxHunkStates {
		return nil
	}
	now, err := v.present(ctx)
	if err != nil {
		return err
	}
	m, err := v.use.merging(ctx, s.From, s.To, now, b)
	if err != nil {
		return err
	}
	defer m.close()
	for i := range d.Hunks {
		if d.Hunks[i].State, err = m.state(ctx, *d, d.Hunks[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// state returns what became of a hunk: it is reverted if a revert would change nothing, and present if it would.
func (m *merging) state(ctx context.Context, d Diff, hunk string) (State, error) {
	without, err := m.withoutHunk(ctx, d, hunk)
	switch {
	case fault.KindOf(err) == fault.NotFound: // a link became a file, or a file a link: only the file can be reverted
		return Edited, nil
	case err != nil:
		return "", err
	}
	ours := m.at(d.Path, d.To)
	switch then, ok, err := m.merge(ctx, ours, d.To, without); {
	case err != nil:
		return "", err
	case !ok:
		return Edited, nil
	case then == ours:
		return Reverted, nil
	}
	return Present, nil
}
