package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Visitor is whom the hash of a secret stands for.
type Visitor struct {
	User   string
	Scopes string    // what the visitor may do, in the words of who admits
	Until  time.Time // how long the hash is good
}

// Admit remembers the hash of what a visitor holds.
func (s *Store) Admit(ctx context.Context, hash []byte, v Visitor) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		return w.db.transaction(ctx, func() error {
			// Nobody else looks for those whose time is over.
			if _, err := w.db.exec(ctx, "DELETE FROM visitor WHERE expires <= ?", time.Now().UnixMilli()); err != nil {
				return err
			}
			_, err := w.db.exec(ctx, "INSERT OR REPLACE INTO visitor (hash, user, scopes, expires) VALUES (?, ?, ?, ?)",
				hash, v.User, v.Scopes, v.Until.UnixMilli())
			return err
		})
	})
}

// Admitted tells whom a hash stands for; one that is not, or no more, good is [ErrNotFound].
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

// Dismiss forgets a hash. One that is not known is no error.
func (s *Store) Dismiss(ctx context.Context, hash []byte) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		_, err := w.db.exec(ctx, "DELETE FROM visitor WHERE hash = ?", hash)
		return err
	})
}
