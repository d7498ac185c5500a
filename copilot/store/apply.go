package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"
)

// Logged is a change in the log.
type Logged struct {
	Change

	Sequence uint64
}

// Apply applies changes of the log, in order and once, and returns the ids of the sessions that other nodes have changed. A
// session or activity that this process holds, and that another node has claimed, is lost ([ErrLost]); entries of it that the
// log lacks are kept in a new, closed session.
func (s *Store) Apply(ctx context.Context, changes []Logged) (sessions []string, err error) {
	return ask(ctx, s, func(ctx context.Context, w *writer) (sessions []string, err error) {
		if err := w.writeContested(ctx, changes); err != nil {
			return nil, err
		}
		a := &applier{writer: w}
		err = w.db.transaction(ctx, func() error {
			*a = applier{writer: w}
			return a.all(ctx, changes)
		})
		if err != nil {
			return nil, err
		}
		for _, l := range a.lost {
			w.lose(l)
		}
		for _, ended := range a.ended {
			delete(w.begun, ended)
		}
		w.rewrites = append(w.rewrites, a.rewrites...)
		return a.sessions, nil
	})
}

// writeContested writes what waits for sessions that another node has claimed, so that nothing of them is dropped.
func (w *writer) writeContested(ctx context.Context, changes []Logged) error {
	var contested []*Lease
	for _, m := range changes {
		kind, id := SplitSubject(m.Subject)
		l := w.leases[id]
		if kind != sessionKind || l == nil || m.Process == w.self.name() {
			continue
		}
		x, err := w.Shared(ctx, m.Subject)
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
	node     string // of this store
	sessions []string
	lost     []*Lease
	ended    []activity // that this process does not write any more
	rewrites []*rewrite
}

func (a *applier) all(ctx context.Context, changes []Logged) error {
	if err := a.db.row(ctx, "SELECT node FROM cluster", nil, &a.node); err != nil {
		return err
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
	var x Shared
	err := a.db.row(ctx, "SELECT sequence, number, version, shipped FROM shared WHERE subject = ?", []any{m.Subject}, &x.Sequence, &x.Number, &x.Version, &x.Shipped)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if m.Sequence <= x.Sequence {
		return nil
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
func (x *Shared) note(m Logged, own bool) {
	switch {
	case own:
		x.Shipped, x.Number = max(x.Shipped, min(x.Version, m.Version)), max(x.Number, m.Last)
	default:
		x.Shipped, x.Number = x.Version, m.Last // what this node has not shared does not count any more
	}
	if m.Removed {
		x.Shipped, x.Number = x.Version, 0
	}
}

// session applies a change of a session, unless this node made it and still has it.
func (a *applier) session(ctx context.Context, id string, m Logged, x *Shared, own bool) error {
	before := *x
	x.note(m, own)
	var key int64
	var epoch, last uint64
	err := a.db.row(ctx, "SELECT key, epoch, last FROM session WHERE id = ?", []any{id}, &key, &epoch, &last)
	missing := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !missing:
		return err
	case m.Removed && missing: // it may have been purged before this node has read it
		return a.removeShares(ctx, id)
	case own && !missing && !m.Removed && m.Version <= x.Version && m.Epoch <= epoch && m.Last <= last:
		return nil
	}
	a.sessions = append(a.sessions, id)
	if !missing && !own {
		if l := a.leases[id]; l != nil {
			a.lost = append(a.lost, l)
		}
		if last > before.Number {
			if err := a.branch(ctx, key, before.Number); err != nil {
				return err
			}
		}
	}
	if m.Removed {
		return a.remove(ctx, key)
	}
	if missing {
		if key, err = a.insertShared(ctx, id, m); err != nil {
			return err
		}
	}
	return a.updateShared(ctx, key, id, m)
}

// insertShared inserts a session of another node.
func (a *applier) insertShared(ctx context.Context, id string, m Logged) (key int64, err error) {
	created := time.Now()
	if m.Session != nil {
		created = m.Session.Created
	}
	err = a.db.row(ctx, `INSERT INTO session (id, origin, title, model, directory, created, changed, epoch, closed, last, size)
		VALUES (?, '', '', '', '', ?, 0, 0, 0, 0, 0) RETURNING key`, []any{id, created.UnixMilli()}, &key)
	return key, err
}

// updateShared updates a session from a change of another node.
func (a *applier) updateShared(ctx context.Context, key int64, id string, m Logged) error {
	owner, err := a.owner(ctx, m)
	if err != nil {
		return err
	}
	var last uint64
	if err := a.db.row(ctx, "SELECT last FROM session WHERE key = ?", []any{key}, &last); err != nil {
		return err
	}
	size, last, err := a.entries(ctx, key, last, m.Entries)
	if err != nil {
		return err
	}
	if _, err := a.db.exec(ctx, "UPDATE session SET epoch = ?, owner = ?, last = max(?, ?), size = size + ?, changed = max(iif(?, 0, changed), ?) WHERE key = ?",
		m.Epoch, owner, last, m.Last, size, m.Claim, m.Changed, key); err != nil {
		return err
	}
	for _, t := range m.Texts {
		if _, err := a.db.exec(ctx, "INSERT OR IGNORE INTO text (session, number, kind, body) VALUES (?, ?, ?, ?)", key, t.Number, t.Kind, t.Body); err != nil {
			return err
		}
	}
	if m.Merge || len(m.Drop) > 0 {
		a.rewrites = append(a.rewrites, &rewrite{session: key, id: id, spans: sorted(m.Drop)})
	}
	if m.Session == nil {
		return nil
	}
	return a.updateSharedHead(ctx, key, m)
}

func (a *applier) updateSharedHead(ctx context.Context, key int64, m Logged) error {
	h := m.Session
	if _, err := a.db.exec(ctx, "UPDATE session SET origin = ?, title = ?, model = ?, directory = ?, closed = ? WHERE key = ?",
		h.Origin, h.Title, h.Model, h.Directory, h.Closed, key); err != nil {
		return err
	}
	if err := a.pin(ctx, key, h.Pinned); err != nil {
		return err
	}
	return a.meta(ctx, key, h.Meta)
}

// owner stores the owner of a change and returns its key, or nil.
func (a *applier) owner(ctx context.Context, m Logged) (key any, err error) {
	o := m.Owner
	if o == nil {
		return nil, nil
	}
	node := o.Node
	if node == "" {
		node = m.Node
	}
	if node == a.node {
		return o.Key, nil // a process of this node: the kernel knows whether it lives
	}
	_, err = a.db.exec(ctx, `INSERT INTO owner (key, pid, start, host, beat) VALUES (?, ?, '', ?, ?) ON CONFLICT (key) DO NOTHING`,
		o.Key, o.PID, clusterHost+node, time.Now().UnixMilli())
	return o.Key, err
}

// activity applies a change of an activity, unless this node made it and still has it.
func (a *applier) activity(ctx context.Context, kind, id string, m Logged, x *Shared, own bool) error {
	before := *x
	x.note(m, own)
	var key int64
	var last uint64
	err := a.db.row(ctx, "SELECT key, last FROM activity WHERE kind = ? AND id = ?", []any{kind, id}, &key, &last)
	missing := errors.Is(err, sql.ErrNoRows)
	switch {
	case err != nil && !missing:
		return err
	case missing && m.Activity == nil, own && !m.Claim && !missing && m.Version <= x.Version && m.Last <= last:
		return nil
	}
	if !own || m.Removed {
		a.ended = append(a.ended, activity{kind, id})
	}
	if m.Removed {
		return a.removeActivity(ctx, key)
	}
	owner, err := a.owner(ctx, m)
	if err != nil {
		return err
	}
	if missing {
		err = a.db.row(ctx, `INSERT INTO activity (kind, id, created, changed, head, done, last) VALUES (?, ?, ?, 0, x'', 0, 0) RETURNING key`,
			[]any{kind, id, m.Activity.Created.UnixMilli()}, &key)
	}
	if err == nil && !own && last > before.Number {
		a.options.Log.Warn("another node has adopted an activity: its last lines of this node are dropped", "kind", kind, "id", id, "lines", last-before.Number)
		last = before.Number
		_, err = a.db.exec(ctx, "DELETE FROM line WHERE activity = ? AND number > ?", key, last)
	}
	for _, e := range m.Entries {
		if e.Number > last && err == nil {
			_, err = a.db.exec(ctx, "INSERT OR REPLACE INTO line (activity, number, data) VALUES (?, ?, ifnull(?, x''))", key, e.Number, e.Data)
		}
	}
	if err == nil {
		_, err = a.db.exec(ctx, "UPDATE activity SET owner = ?, last = ? WHERE key = ?", owner, max(last, m.Last), key)
	}
	if h := m.Activity; h != nil && err == nil {
		_, err = a.db.exec(ctx, "UPDATE activity SET changed = ?, head = ifnull(?, x''), done = ? WHERE key = ?", h.Changed.UnixMilli(), h.Head, h.Done, key)
	}
	return err
}

// removedRow is the number of a visitor or share that is removed for good. A change that another node made before it knew that
// may follow in the log.
const removedRow = 1

// sharedRow applies a change of what is shared as a whole. The newest in the log counts: a change that the log lacks will be that.
func (a *applier) sharedRow(ctx context.Context, kind, id string, m Logged, x *Shared, own bool) error {
	switch {
	case m.Removed:
		x.Number, x.Shipped = removedRow, x.Version
	case x.Number == removedRow:
		x.Shipped = x.Version
		return nil
	case own && x.Shipped < m.Version && m.Version <= x.Version:
		x.Shipped = m.Version
		return nil
	case x.Version > x.Shipped:
		return nil
	}
	return a.row(ctx, kind, id, m)
}

// row applies a change of a visitor, share or position.
func (a *applier) row(ctx context.Context, kind, id string, m Logged) (err error) {
	switch kind {
	case visitorKind:
		if m.Removed {
			_, err = a.db.exec(ctx, "DELETE FROM visitor WHERE lower(hex(hash)) = ?", id)
			return err
		}
		var v visitor
		if err := json.Unmarshal(m.Row, &v); err != nil {
			return err
		}
		_, err = a.db.exec(ctx, "INSERT OR REPLACE INTO visitor (hash, user, scopes, expires) VALUES (?, ?, ?, ?)", v.Hash, v.User, v.Scopes, v.Until.UnixMilli())
	case shareKind:
		if m.Removed {
			_, err = a.db.exec(ctx, "DELETE FROM share WHERE id = ?", id)
			return err
		}
		var x Share
		if err := json.Unmarshal(m.Row, &x); err != nil {
			return err
		}
		_, err = a.db.exec(ctx, "INSERT OR REPLACE INTO share (id, session, hash, rights, label, created, expires, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			x.ID, x.Session, x.Hash, x.Rights, x.Label, x.Created.UnixMilli(), x.Expires.UnixMilli(), max(0, x.Used.UnixMilli()))
	default:
		var p position
		if err := json.Unmarshal(m.Row, &p); err != nil {
			return err
		}
		_, err = a.positionOf(ctx, mark{p.Session, p.Name}, p.Number)
	}
	return err
}

// branch copies a session, with entries that the log lacks, to a new, closed session, and removes these entries from the original.
func (a *applier) branch(ctx context.Context, key int64, number uint64) error {
	id := uuid.NewString()
	var to int64
	err := a.db.row(ctx, `INSERT INTO session (id, origin, title, model, directory, created, changed, epoch, closed, last, size)
		SELECT ?, origin, title || ' (branch of ' || ? || ')', model, directory, created, changed, 1, 1, last, size FROM session WHERE key = ? RETURNING key`,
		[]any{id, a.node, key}, &to)
	if err != nil {
		return err
	}
	for _, query := range []string{
		"INSERT INTO meta (session, data) SELECT ?, data FROM meta WHERE session = ?",
		"INSERT INTO segment (session, first, last, small, size, data) SELECT ?, first, last, small, size, data FROM segment WHERE session = ?",
		"INSERT INTO payload (session, hash, data) SELECT ?, hash, data FROM payload WHERE session = ?",
		"INSERT INTO text (session, number, kind, body) SELECT ?, number, kind, body FROM text WHERE session = ?",
	} {
		if _, err := a.db.exec(ctx, query, to, key); err != nil {
			return err
		}
	}
	if _, err := a.change(ctx, subject(sessionKind, id)); err != nil {
		return err
	}
	a.options.Log.Warn("another node has taken over a session: what this node recorded alone is kept as a branch", "branch", id, "after", number)
	a.sessions = append(a.sessions, id)
	return a.truncate(ctx, key, number)
}

// truncate removes the entries after a number.
func (a *applier) truncate(ctx context.Context, key int64, number uint64) error {
	for _, query := range []string{
		"DELETE FROM segment WHERE session = ? AND first > ?", "DELETE FROM text WHERE session = ? AND number > ?",
	} {
		if _, err := a.db.exec(ctx, query, key, number); err != nil {
			return err
		}
	}
	crossing, err := collect(ctx, a.db, column[[]byte], "SELECT data FROM segment WHERE session = ? AND last > ?", key, number)
	if err != nil {
		return err
	}
	if _, err := a.db.exec(ctx, "DELETE FROM segment WHERE session = ? AND last > ?", key, number); err != nil {
		return err
	}
	for _, data := range crossing {
		if err := a.keepUntil(ctx, key, data, number); err != nil {
			return err
		}
	}
	_, err = a.db.exec(ctx, "UPDATE session SET last = ? WHERE key = ?", number, key)
	return err
}

// keepUntil stores the entries of a segment up to a number.
func (a *applier) keepUntil(ctx context.Context, key int64, segment []byte, number uint64) error {
	entries, err := decode(segment)
	if err != nil {
		return err
	}
	var kept []packedEntry
	for _, e := range entries {
		if e.number <= number {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	data := encode(kept)
	_, err = a.db.exec(ctx, "INSERT INTO segment (session, first, last, small, size, data) VALUES (?, ?, ?, true, ?, ?)",
		key, kept[0].number, kept[len(kept)-1].number, len(data), data)
	return err
}
