package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Admit remembers the hash of what a visitor holds, whom it stands for and how long it is good.
func (s *Store) Admit(ctx context.Context, hash []byte, user string, until time.Time) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		return w.db.transaction(ctx, func() error {
			// Nobody else looks for those whose time is over.
			if _, err := w.db.exec(ctx, "DELETE FROM visitor WHERE expires <= ?", time.Now().UnixMilli()); err != nil {
				return err
			}
			_, err := w.db.exec(ctx, "INSERT OR REPLACE INTO visitor (hash, user, expires) VALUES (?, ?, ?)", hash, user, until.UnixMilli())
			return err
		})
	})
}

// Admitted tells whom a hash stands for and until when; one that is not, or no more, good is [ErrNotFound].
func (s *Store) Admitted(ctx context.Context, hash []byte) (user string, until time.Time, err error) {
	var milli int64
	err = s.read.Load().QueryRowContext(ctx, "SELECT user, expires FROM visitor WHERE hash = ? AND expires > ?",
		hash, time.Now().UnixMilli()).Scan(&user, &milli)
	if errors.Is(err, sql.ErrNoRows) {
		return "", time.Time{}, ErrNotFound
	}
	return user, time.UnixMilli(milli), s.readError(err)
}

// Dismiss forgets a hash. One that is not known is no error.
func (s *Store) Dismiss(ctx context.Context, hash []byte) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		_, err := w.db.exec(ctx, "DELETE FROM visitor WHERE hash = ?", hash)
		return err
	})
}
