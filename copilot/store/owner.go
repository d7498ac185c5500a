package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// owner is a process as the others see it.
type owner struct {
	key   int64
	pid   int
	start string
	host  string
	beat  int64 // milliseconds
}

// heartbeatSeen is a heartbeat as it was seen here.
type heartbeatSeen struct {
	beat int64
	at   time.Time
}

// isOwnerGone tells whether an owner provably lives no more. Where process ids are counted as here, the kernel tells; elsewhere
// the heartbeat does. One from the future says nothing, so it is watched for as long as it may be late.
func (w *writer) isOwnerGone(o owner, now time.Time) bool {
	if o.key == w.self.key {
		return true // a lease of our own that nobody holds
	}
	if w.local(o) {
		return w.isDead(o)
	}
	late := 5 * w.options.Heartbeat
	if age := now.Sub(time.UnixMilli(o.beat)); age >= 0 {
		return age > late
	}
	if seen, ok := w.seen[o.key]; ok && seen.beat == o.beat {
		return now.Sub(seen.at) > late
	}
	w.seen[o.key] = heartbeatSeen{beat: o.beat, at: now}
	return false
}

// local tells whether an owner's process id and start time mean something here.
func (s *Store) local(o owner) bool { return o.host != "" && o.host == s.self.host && o.start != "" }

// isDead tells whether the kernel says that an owner lives no more.
func (s *Store) isDead(o owner) bool { return s.local(o) && started(o.pid) != o.start }

// deadCache looks at each owner once: a list has many sessions of few.
func (s *Store) deadCache() func(owner) bool {
	seen := map[owner]bool{}
	return func(o owner) bool {
		dead, known := seen[o]
		if !known {
			dead = s.isDead(o)
			seen[o] = dead
		}
		return dead
	}
}

// heartbeat says that this process lives and looks whether its sessions are still its own.
func (w *writer) heartbeat(ctx context.Context) error {
	if len(w.leases)+len(w.begun) == 0 && w.retry.IsZero() {
		return nil
	}
	held := map[int64]uint64{}
	err := w.db.transaction(ctx, func() error {
		if err := w.registerOwner(ctx); err != nil {
			return err
		}
		rows, err := w.db.query(ctx, "SELECT key, epoch FROM session WHERE owner = ?", w.self.key)
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // Err tells
		for rows.Next() {
			var key int64
			var epoch uint64
			if err := rows.Scan(&key, &epoch); err != nil {
				return err
			}
			held[key] = epoch
		}
		return rows.Err()
	})
	if err != nil {
		return err
	}
	for _, l := range w.leases {
		if held[l.key] != l.epoch {
			w.lose(l)
		}
	}
	return nil
}

// registerOwner writes this process down as an owner.
func (w *writer) registerOwner(ctx context.Context) error {
	_, err := w.db.exec(ctx, `INSERT INTO owner (key, pid, start, host, beat) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET beat = excluded.beat`,
		w.self.key, w.self.pid, w.self.start, w.self.host, time.Now().UnixMilli())
	return err
}

func (w *writer) lose(l *Lease) {
	w.options.Log.Error("a session was lost to another process, or deleted", "session", l.id)
	delete(w.leases, l.id)
	l.finish(ErrLost)
}

// Create stores a new session and takes it. A session of that id is [ErrExists].
func (s *Store) Create(ctx context.Context, head Session) (*Lease, error) {
	var lease *Lease
	err := s.do(ctx, func(ctx context.Context, w *writer) (err error) {
		lease, err = w.create(ctx, head)
		return err
	})
	return lease, err
}

// Acquire takes a session that is free, or whose owner is provably gone. If it is neither, the error is an
// [*InUseError]; if there is none, [ErrNotFound].
func (s *Store) Acquire(ctx context.Context, id string) (*Lease, error) {
	var lease *Lease
	err := s.do(ctx, func(ctx context.Context, w *writer) (err error) {
		lease, err = w.acquire(ctx, id)
		return err
	})
	return lease, err
}

func (w *writer) create(ctx context.Context, head Session) (*Lease, error) {
	if head.Created.IsZero() {
		head.Created = time.Now()
	}
	head.Epoch, head.Last = 1, 0
	l := w.lease(head)
	err := w.db.transaction(ctx, func() error {
		var known int
		if err := w.db.row(ctx, "SELECT count(*) FROM session WHERE id = ?", []any{l.id}, &known); err != nil {
			return err
		}
		if known > 0 {
			return ErrExists
		}
		return w.insert(ctx, l)
	})
	if err != nil {
		return nil, err
	}
	w.leases[l.id] = l
	return l, nil
}

// lease makes the lease of a session that is as told.
func (w *writer) lease(head Session) *Lease {
	l := &Lease{store: w.Store, id: head.ID, epoch: head.Epoch, taken: head, head: head, handed: head.Last}
	l.stored.Store(head.Last)
	return l
}

// insert writes the row of a session that this process holds.
func (w *writer) insert(ctx context.Context, l *Lease) error {
	if err := w.registerOwner(ctx); err != nil {
		return err
	}
	h, now := l.head, time.Now().UnixMilli()
	err := w.db.row(ctx, `INSERT INTO session
		(id, origin, title, model, directory, created, changed, epoch, closed, last, size, owner)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?) RETURNING key`,
		[]any{
			h.ID, h.Origin, h.Title, h.Model, h.Directory, h.Created.UnixMilli(), now, l.epoch, h.Closed,
			l.stored.Load(), w.self.key,
		}, &l.key)
	if err != nil {
		return err
	}
	return w.meta(ctx, l.key, h.Meta)
}

func (w *writer) acquire(ctx context.Context, id string) (*Lease, error) {
	if l := w.leases[id]; l != nil {
		return nil, &InUseError{Session: id, PID: w.self.pid}
	}
	var key int64
	var head Session
	err := w.db.transaction(ctx, func() (err error) {
		if key, err = w.freeSessionKey(ctx, id); err != nil {
			return err
		}
		if err := w.registerOwner(ctx); err != nil {
			return err
		}
		if _, err := w.db.exec(ctx, "UPDATE session SET epoch = epoch + 1, owner = ? WHERE key = ?", w.self.key, key); err != nil {
			return err
		}
		if _, err := w.db.exec(ctx, `DELETE FROM owner WHERE key <> ? AND NOT EXISTS
			(SELECT 1 FROM session WHERE owner = owner.key) AND NOT EXISTS (SELECT 1 FROM activity WHERE owner = owner.key)`, w.self.key); err != nil {
			return err
		}
		head, err = w.scan(w.db.conn.QueryRowContext(ctx, selectSession+" WHERE session.key = ?", key), w.isDead)
		return err
	})
	if err != nil {
		return nil, err
	}
	l := w.lease(head)
	l.key = key
	w.leases[id] = l
	w.chores.add(rewrite{session: key, id: id})
	return l, nil
}

// freeSessionKey gives the key of a session that nobody holds.
func (w *writer) freeSessionKey(ctx context.Context, id string) (int64, error) {
	var key int64
	var held sql.NullInt64
	var o owner
	err := w.db.row(ctx, `SELECT session.key, owner.key, ifnull(pid, 0), ifnull(start, ''), ifnull(host, ''), ifnull(beat, 0)
		FROM session LEFT JOIN owner ON owner.key = session.owner WHERE id = ?`,
		[]any{id}, &key, &held, &o.pid, &o.start, &o.host, &o.beat)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, ErrNotFound
	case err != nil:
		return 0, err
	}
	o.key = held.Int64
	if held.Valid && (w.leases[id] != nil || !w.isOwnerGone(o, time.Now())) {
		return 0, &InUseError{Session: id, PID: o.pid}
	}
	return key, nil
}

func (w *writer) release(ctx context.Context, l *Lease) error {
	if w.leases[l.id] != l {
		return nil // lost, or given back before
	}
	l.stop(ErrReleased) // so that nothing is taken that would not be written
	err := w.giveBack(ctx, l)
	if err != nil && w.leases[l.id] == l {
		l.resume()
	}
	return err
}

func (w *writer) giveBack(ctx context.Context, l *Lease) error {
	l.takePending()
	if err := w.group(ctx, []*Lease{l}); err != nil {
		return err
	}
	if w.leases[l.id] != l {
		return ErrLost
	}
	if _, err := w.db.exec(ctx, "UPDATE session SET owner = NULL WHERE key = ? AND epoch = ? AND owner = ?",
		l.key, l.epoch, w.self.key); err != nil {
		return err
	}
	delete(w.leases, l.id)
	l.finish(ErrReleased)
	return nil
}
