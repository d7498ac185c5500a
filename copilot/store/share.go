package store

import (
	"context"
	"errors"
	"time"
)

// Share is a link that opens one session. The store knows only the hash of its token.
type Share struct {
	ID, Session string
	Hash        []byte
	Rights      string // what the link allows, in the caller's terms
	Label       string
	Created     time.Time
	Expires     time.Time
	Used        time.Time // zero: never
}

const selectShare = "SELECT id, session, hash, rights, label, created, expires, used FROM share"

func scanShare(row scanner) (Share, error) {
	var x Share
	var created, expires, used int64
	err := row.Scan(&x.ID, &x.Session, &x.Hash, &x.Rights, &x.Label, &created, &expires, &used)
	x.Created, x.Expires = time.UnixMilli(created), time.UnixMilli(expires)
	if used > 0 {
		x.Used = time.UnixMilli(used)
	}
	return x, err
}

// AddShare stores a share unless its session has most of them, and reports whether it did. It removes all expired ones.
func (s *Store) AddShare(ctx context.Context, x Share, most int) (added bool, err error) {
	err = s.changeRow(ctx, subject(shareKind, x.ID), func(ctx context.Context, w *writer) (int64, error) {
		if _, err := w.db.exec(ctx, "DELETE FROM share WHERE expires <= ?", time.Now().UnixMilli()); err != nil {
			return 0, err
		}
		n, err := w.db.exec(ctx, `INSERT INTO share (id, session, hash, rights, label, created, expires, used)
				SELECT ?, ?, ?, ?, ?, ?, ?, 0 WHERE (SELECT count(*) FROM share WHERE session = ?) < ?`,
			x.ID, x.Session, x.Hash, x.Rights, x.Label, x.Created.UnixMilli(), x.Expires.UnixMilli(), x.Session, most)
		added = n > 0
		return n, err
	})
	return added, err
}

// Share returns a share, or [ErrNotFound] if the id is unknown or expired.
func (s *Store) Share(ctx context.Context, id string) (Share, error) {
	return caughtUp(ctx, s, func() (Share, error) {
		return one(ctx, s, scanShare, selectShare+" WHERE id = ? AND expires > ?", id, time.Now().UnixMilli())
	})
}

// Shares returns the shares of a session that have not expired, oldest first.
func (s *Store) Shares(ctx context.Context, session string) ([]Share, error) {
	return many(ctx, s, scanShare, selectShare+" WHERE session = ? AND expires > ? ORDER BY created, id", session, time.Now().UnixMilli())
}

// UseShare stores when a share was used last. An unknown id is not an error.
func (s *Store) UseShare(ctx context.Context, id string, at time.Time) error {
	return s.changeRow(ctx, subject(shareKind, id), func(ctx context.Context, w *writer) (int64, error) {
		return w.db.exec(ctx, "UPDATE share SET used = ? WHERE id = ? AND used < ?", at.UnixMilli(), id, at.UnixMilli())
	})
}

// DeleteShare deletes a share of a session and reports whether there was one.
func (s *Store) DeleteShare(ctx context.Context, session, id string) (deleted bool, err error) {
	if _, err := s.Share(ctx, id); err != nil && !errors.Is(err, ErrNotFound) { // another node may have added it
		return false, err
	}
	err = s.changeRow(ctx, subject(shareKind, id), func(ctx context.Context, w *writer) (int64, error) {
		n, err := w.db.exec(ctx, "DELETE FROM share WHERE session = ? AND id = ?", session, id)
		deleted = n > 0
		return n, err
	})
	return deleted, err
}
