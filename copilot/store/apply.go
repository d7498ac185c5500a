package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// Logged is a change in the log.
type Logged struct {
	Change

	Sequence uint64
}

// Apply applies changes of the log, in order and once, and returns the ids of the sessions that other nodes have changed. A
// session or activity that this process holds, and that another node has claimed, is lost ([ErrLost]); entries of it that the
// log lacks are kept in a new, closed session. Unless the changes are urgent, they wait with the next group.
func (s *Store) Apply(ctx context.Context, changes []Logged, urgent bool) (sessions []string, err error) {
	when := s.wake
	if urgent {
		when = s.urgent
	}
	err = s.request(ctx, when, func(ctx context.Context, w *writer) (err error) {
		sessions, err = w.apply(ctx, changes)
		return err
	})
	return sessions, err
}

// Hurry ends the pause before the next group, and before changes that are not urgent.
func (s *Store) Hurry() { signal(s.urgent) }

// errReplaced reports that the file was replaced. What follows would leave a gap.
var errReplaced = errors.New("the file was replaced: it is read from the log again")

func (w *writer) apply(ctx context.Context, changes []Logged) ([]string, error) {
	if err := w.writeContested(ctx, changes); err != nil {
		return nil, err
	}
	a := &applier{writer: w}
	err := w.db.transaction(ctx, func() error {
		*a = applier{writer: w}
		return a.all(ctx, changes)
	})
	if err != nil {
		return nil, err
	}
	if n := len(changes); n > 0 {
		w.applied = max(w.applied, changes[n-1].Sequence)
	}
	for _, l := range a.lost {
		w.lose(l)
	}
	for _, ended := range a.ended {
		delete(w.begun, ended)
	}
	w.rewrites = append(w.rewrites, a.rewrites...)
	subjects := map[string]struct{}{}
	for _, m := range changes {
		subjects[m.Subject] = struct{}{}
	}
	w.grouped = max(w.grouped, len(subjects))
	return a.sessions, nil
}

// writeContested writes what waits for sessions that another node has claimed, so that nothing of them is dropped.
func (w *writer) writeContested(ctx context.Context, changes []Logged) error {
	var contested []*Lease
	for _, m := range changes {
		kind, id := SplitSubject(m.Subject)
		l := w.leases[id]
		if kind != sessionKind || l == nil || m.Process == w.self.name() || slices.Contains(contested, l) {
			continue
		}
		x, err := w.progress(ctx, m.Subject)
		if err != nil {
			return err
		}
		if m.Sequence > x.Sequence {
			l.stop(ErrLost)
			l.takePending()
			contested = append(contested, l)
		}
	}
	return w.group(ctx, contested)
}

// applier applies changes within one transaction.
type applier struct {
	*writer
	sessions []string
	lost     []*Lease
	ended    []activity // that this process does not write any more
	rewrites []*rewrite
}

func (a *applier) all(ctx context.Context, changes []Logged) error {
	if behind, err := a.isBehind(ctx); err != nil {
		return err
	} else if behind {
		return errReplaced
	}
	for _, m := range changes {
		if err := a.one(ctx, m); err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		return nil
	}
	_, err := a.db.exec(ctx, "UPDATE cluster SET applied = max(applied, ?)", changes[len(changes)-1].Sequence)
	return err
}

func (a *applier) one(ctx context.Context, m Logged) error {
	x, err := a.progress(ctx, m.Subject)
	if err != nil || m.Sequence <= x.Sequence {
		return err
	}
	own := m.Node == a.node
	kind, id := SplitSubject(m.Subject)
	switch kind {
	case sessionKind:
		err = a.session(ctx, id, m, &x, own)
	case visitorKind, shareKind, positionKind:
		err = a.sharedRow(ctx, kind, id, m, &x, own)
	default:
		err = a.activity(ctx, kind, id, m, &x, own)
	}
	if err != nil {
		return err
	}
	x.Sequence = m.Sequence
	_, err = a.db.exec(ctx, `INSERT OR REPLACE INTO shared (subject, sequence, number, version, shipped) VALUES (?, ?, ?, ?, ?)`,
		m.Subject, x.Sequence, x.Number, x.Version, x.Shipped)
	return err
}

// note notes that the log has a change of a session or activity.
func (x *Progress) note(m Logged, own bool) {
	switch {
	case m.Removed:
		x.Shipped, x.Number = x.Version, 0
	case own:
		x.Shipped, x.Number = max(x.Shipped, min(x.Version, m.Version)), max(x.Number, m.Last)
	default:
		x.Shipped, x.Number = x.Version, m.Last // what this node has not shared does not count any more
	}
}

// owner stores the owner of a change, unless that is the one before, and returns its key, or nil.
func (a *applier) owner(ctx context.Context, m Logged, before sql.NullInt64) (key any, err error) {
	o := m.Owner
	switch {
	case o == nil:
		return nil, nil
	case before.Valid && before.Int64 == o.Key: // its row stays as long as something refers to it
		return o.Key, nil
	}
	node := o.Node
	if node == "" {
		node = m.Node
	}
	if node == a.node { // the kernel knows whether it lives
		if o.Key == a.self.key { // its claim may have failed here, and have had an effect
			err = a.registerOwner(ctx)
		}
		return o.Key, err
	}
	_, err = a.db.exec(ctx, `INSERT INTO owner (key, pid, start, host, beat) VALUES (?, ?, '', ?, ?) ON CONFLICT (key) DO NOTHING`,
		o.Key, o.PID, clusterHost+node, time.Now().UnixMilli())
	return o.Key, err
}
