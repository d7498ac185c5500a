package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Visitor is a client that holds a secret, of which the store knows the hash.
type Visitor struct {
	User   string
	Scopes string    // what the visitor may do, in the words of the caller
	Until  time.Time // the hash is valid until then
}

// Admit stores the hash of a visitor's secret.
func (s *Store) Admit(ctx context.Context, hash []byte, v Visitor) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		return w.db.transaction(ctx, func() error {
			// Nothing else removes expired ones.
			if _, err := w.db.exec(ctx, "DELETE FROM visitor WHERE expires <= ?", time.Now().UnixMilli()); err != nil {
				return err
			}
			_, err := w.db.exec(ctx, "INSERT OR REPLACE INTO visitor (hash, user, scopes, expires) VALUES (?, ?, ?, ?)",
				hash, v.User, v.Scopes, v.Until.UnixMilli())
			return err
		})
	})
}

// Admitted returns the visitor of a hash, or [ErrNotFound] if it is unknown or expired.
func (s *Store) Admitted(ctx context.Context, hash []byte) (v Visitor, err error) {
	var milli int64
	err = s.read.Load().QueryRowContext(ctx, "SELECT user, scopes, expires FROM visitor WHERE hash = ? AND expires > ?",
		hash, time.Now().UnixMilli()).Scan(&v.User, &v.Scopes, &milli)
	if errors.Is(err, sql.ErrNoRows) {
		return Visitor{}, ErrNotFound
	}
	v.Until = time.UnixMilli(milli)
	return v, s.readError(err)
}

// Dismiss forgets a hash. An unknown one is no error.
func (s *Store) Dismiss(ctx context.Context, hash []byte) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		_, err := w.db.exec(ctx, "DELETE FROM visitor WHERE hash = ?", hash)
		return err
	})
}
