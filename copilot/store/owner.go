package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"
)

// owner is a process as the other processes see it.
type owner struct {
	key   int64
	pid   int
	start string
	host  string
	beat  int64 // milliseconds
}

// name is a name that no other process has.
func (o owner) name() string { return strconv.FormatInt(o.key, 36) }

// Name returns a name of this process that no other process on the store has, made of letters and digits.
func (s *Store) Name() string { return s.self.name() }

// heartbeatSeen is what this process has seen of the heartbeat of another one.
type heartbeatSeen struct {
	beat   int64
	at     time.Time     // of the last look
	silent time.Duration // how long it has not changed, as far as this process has looked
	moved  bool          // it has changed since the first look
}

// isOwnerGone reports whether an owner has provably ended: according to the kernel where process ids are comparable,
// otherwise because this process has watched its heartbeat for as long as one may be late. The time in a heartbeat proves
// nothing: a machine sleeps, and clocks are set.
func (w *writer) isOwnerGone(o owner, now time.Time) bool {
	if o.key == w.self.key {
		return true // a lease of this process that nothing holds
	}
	if o.isElsewhere() || w.isLocal(o) {
		return w.isDead(o)
	}
	return w.look(o, now).silent >= w.lateAfter()
}

// lateAfter returns for how long a living owner may be silent.
func (s *Store) lateAfter() time.Duration { return 5 * s.options.Heartbeat }

// look notes the heartbeat of an owner. Between two looks, no more than one interval counts as silence: both processes may have been
// suspended.
func (w *writer) look(o owner, now time.Time) heartbeatSeen {
	seen, known := w.seen[o.key]
	if known && seen.beat == o.beat {
		seen.silent += min(now.Sub(seen.at), w.options.Heartbeat)
	} else {
		seen = heartbeatSeen{beat: o.beat, moved: known}
	}
	seen.at = now
	w.seen[o.key] = seen
	return seen
}

// inUse returns the error for a session whose owner is not provably gone.
func (w *writer) inUse(session string, o owner) *InUseError {
	seen, watched := w.seen[o.key]
	doubtful := watched && !seen.moved && time.Since(time.UnixMilli(o.beat)) > w.lateAfter()
	return &InUseError{Session: session, PID: o.pid, doubtful: doubtful}
}

// untilProven repeats do while the owner of the session that it needs looks gone, until that is proven or the owner is heard.
func (s *Store) untilProven(ctx context.Context, do func() error) error {
	for {
		err := do()
		if held, inUse := errors.AsType[*InUseError](err); !inUse || !held.doubtful {
			return err
		}
		select {
		case <-time.After(s.options.Heartbeat):
		case <-ctx.Done():
			return err
		case <-s.closing:
			return err
		}
	}
}

// isLocal reports whether an owner's process id and start time are comparable with this process's.
func (s *Store) isLocal(o owner) bool { return o.host != "" && o.host == s.self.host && o.start != "" }

// isDead reports whether an owner has ended according to the kernel or, if it belongs to another node, to the cluster.
func (s *Store) isDead(o owner) bool {
	if o.isElsewhere() {
		return s.options.Cluster == nil || !s.options.Cluster.IsMember(o.name())
	}
	return s.isLocal(o) && started(o.pid) != o.start
}

// deadCache returns isDead with a cache, because a list has many sessions of few owners.
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

// heartbeat stores that this process is alive and finishes the leases that it has lost.
func (w *writer) heartbeat(ctx context.Context) error {
	if len(w.leases)+len(w.begun) == 0 && w.retry.IsZero() {
		return nil
	}
	held := map[int64]uint64{}
	err := w.db.transaction(ctx, func() error {
		if err := w.registerOwner(ctx); err != nil {
			return err
		}
		_, err := collect(ctx, w.db, func(row scanner) (key int64, err error) {
			var epoch uint64
			err = row.Scan(&key, &epoch)
			held[key] = epoch
			return key, err
		}, "SELECT key, epoch FROM session WHERE owner = ?", w.self.key)
		return err
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

// registerOwner stores this process as an owner, with its heartbeat.
func (w *writer) registerOwner(ctx context.Context) error {
	_, err := w.db.exec(ctx, `INSERT INTO owner (key, pid, start, host, beat) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET beat = excluded.beat`,
		w.self.key, w.self.pid, w.self.start, w.self.host, time.Now().UnixMilli())
	return err
}

// lose ends a lease because another process has acquired the session, or it was deleted. Another call has no effect.
func (w *writer) lose(l *Lease) {
	if w.leases[l.id] != l {
		return
	}
	w.options.Log.Error("a session was acquired by another process, or deleted", "session", l.id)
	delete(w.leases, l.id)
	w.recent.forget(SessionSubject(l.id), math.MaxUint64)
	l.finish(ErrLost)
}

// Create stores a new session and acquires it. It fails with [ErrExists] if the id is in use.
func (s *Store) Create(ctx context.Context, head Session) (*Lease, error) {
	if head.Created.IsZero() {
		head.Created = time.Now()
	}
	head.Epoch, head.Last = 1, 0
	return ask(ctx, s, func(ctx context.Context, w *writer) (*Lease, error) {
		l := newLease(s, head)
		err := w.db.transaction(ctx, func() error {
			var known bool
			if err := w.db.row(ctx, "SELECT count(*) FROM session WHERE id = ?", []any{l.id}, &known); err != nil {
				return err
			}
			if known {
				return ErrExists
			}
			return w.insert(ctx, l)
		})
		if err != nil {
			return nil, err
		}
		w.leases[l.id] = l
		return l, nil
	})
}

// Acquire acquires the lease of a session that is free or whose owner is provably gone; the proof may take five heartbeats. Otherwise it
// fails with an [*InUseError], or with [ErrNotFound] if there is no such session.
func (s *Store) Acquire(ctx context.Context, id string) (l *Lease, err error) {
	err = s.untilProven(ctx, func() error {
		claim, err := s.claim(ctx, func(ctx context.Context, w *writer) (Change, error) { return w.claimSession(ctx, id) })
		if err == nil {
			l, err = ask(ctx, s, func(ctx context.Context, w *writer) (*Lease, error) { return w.acquire(ctx, id, claim) })
		}
		return err
	})
	return l, err
}

// insert stores a session that this process holds.
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
	if err := w.pin(ctx, l.key, h.Pinned); err != nil {
		return err
	}
	if err := w.meta(ctx, l.key, h.Meta); err != nil {
		return err
	}
	_, err = w.change(ctx, SessionSubject(l.id))
	return err
}

// acquire acquires a free session, in a cluster after a claim.
func (w *writer) acquire(ctx context.Context, id string, claim Logged) (*Lease, error) {
	var key int64
	var head Session
	err := w.db.transaction(ctx, func() (err error) {
		if key, err = w.freeSessionKey(ctx, id); err != nil {
			return err
		}
		if err := w.registerOwner(ctx); err != nil {
			return err
		}
		if claim.Sequence > 0 {
			if err := w.claimed(ctx, claim); err != nil {
				return err
			}
		}
		if _, err := w.db.exec(ctx, "UPDATE session SET epoch = ifnull(nullif(?, 0), epoch + 1), owner = ? WHERE key = ?", claim.Epoch, w.self.key, key); err != nil {
			return err
		}
		if _, err := w.db.exec(ctx, `DELETE FROM owner WHERE key <> ? AND NOT EXISTS
			(SELECT 1 FROM session WHERE owner = owner.key) AND NOT EXISTS (SELECT 1 FROM activity WHERE owner = owner.key)`, w.self.key); err != nil {
			return err
		}
		head, err = scanSession(w.isDead)(w.db.conn.QueryRowContext(ctx, selectSession+" WHERE session.key = ?", key))
		return err
	})
	if err != nil {
		return nil, err
	}
	l := newLease(w.Store, head)
	l.key = key
	w.leases[id] = l
	w.rewrites = append(w.rewrites, &rewrite{session: key, id: id})
	return l, nil
}

// freeSessionKey returns the key of a session that no process holds.
func (w *writer) freeSessionKey(ctx context.Context, id string) (int64, error) {
	if w.leases[id] != nil {
		return 0, &InUseError{Session: id, PID: w.self.pid}
	}
	var key int64
	var o owner
	err := w.db.row(ctx, `SELECT session.key, ifnull(owner.key, 0), ifnull(pid, 0), ifnull(start, ''), ifnull(host, ''), ifnull(beat, 0)
		FROM session LEFT JOIN owner ON owner.key = session.owner WHERE id = ?`,
		[]any{id}, &key, &o.key, &o.pid, &o.start, &o.host, &o.beat)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, ErrNotFound
	case err != nil:
		return 0, err
	}
	if o.key != 0 && !w.isOwnerGone(o, time.Now()) {
		return 0, w.inUse(id, o)
	}
	return key, nil
}

// release writes the queued data and releases the lease. If that fails, the lease accepts entries again.
func (w *writer) release(ctx context.Context, l *Lease) error {
	if w.leases[l.id] != l {
		return nil // lost, or already released
	}
	l.stop(ErrReleased) // an entry accepted from now on would not be written
	l.takePending()
	err := w.group(ctx, []*Lease{l})
	if err == nil && w.leases[l.id] != l {
		return ErrLost
	}
	var version uint64
	if err == nil {
		err = w.db.transaction(ctx, func() (err error) {
			if _, err = w.db.exec(ctx, "UPDATE session SET owner = NULL WHERE key = ? AND epoch = ? AND owner = ?", l.key, l.epoch, w.self.key); err == nil {
				version, err = w.change(ctx, SessionSubject(l.id))
			}
			return err
		})
	}
	if err != nil {
		l.resume()
		return err
	}
	if version > 0 {
		w.recent.add(SessionSubject(l.id), piece{version: version, forgotten: true})
	}
	delete(w.leases, l.id)
	l.finish(ErrReleased)
	return nil
}

// Orphans returns the ids of sessions whose owner is provably gone and that no process has acquired since, newest
// change first. The proof is that of [Store.Acquire].
func (s *Store) Orphans(ctx context.Context) ([]string, error) {
	return ask(ctx, s, func(ctx context.Context, w *writer) ([]string, error) {
		gone, err := w.goneOwners(ctx)
		if err != nil {
			return nil, err
		}
		ids, err := collect(ctx, w.db, column[string], `SELECT id FROM session WHERE owner IN (SELECT value FROM json_each(?))
			ORDER BY changed DESC, id DESC`, gone)
		return slices.DeleteFunc(ids, func(id string) bool { return w.leases[id] != nil }), err
	})
}

// owners returns the owners of sessions and activities. Of one that has not registered, only the key is known.
func (w *writer) owners(ctx context.Context) ([]owner, error) {
	return w.ownersIn(ctx, "SELECT owner FROM session WHERE owner IS NOT NULL UNION SELECT owner FROM activity WHERE owner IS NOT NULL")
}

// ownersIn returns the owners whose keys a query yields.
func (w *writer) ownersIn(ctx context.Context, held string, args ...any) ([]owner, error) {
	return collect(ctx, w.db, func(row scanner) (o owner, err error) {
		err = row.Scan(&o.key, &o.pid, &o.start, &o.host, &o.beat)
		return o, err
	}, `SELECT held.owner, ifnull(pid, 0), ifnull(start, ''), ifnull(host, ''), ifnull(beat, 0) FROM
		(`+held+`) held LEFT JOIN owner ON owner.key = held.owner`, args...)
}

// checkGone fails with an [*InUseError] if owners are not all provably gone. It names one that looks gone, if there is one.
func (w *writer) checkGone(owners []owner) (err error) {
	for _, o := range owners {
		if w.isOwnerGone(o, time.Now()) {
			continue
		}
		held := w.inUse("", o)
		if err == nil || held.doubtful {
			err = held
		}
	}
	return err
}

// goneOwners returns the keys of owners that are gone, as a JSON list.
func (w *writer) goneOwners(ctx context.Context) (string, error) {
	owners, err := w.owners(ctx)
	if err != nil {
		return "", err
	}
	gone := []int64{}
	for _, o := range owners {
		if w.isOwnerGone(o, time.Now()) {
			gone = append(gone, o.key)
		}
	}
	keys, err := json.Marshal(gone)
	return string(keys), err
}
