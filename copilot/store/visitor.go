package store

import (
	"context"
	"encoding/hex"
	"time"
)

// Visitor is a client that holds a secret. The store knows only its hash.
type Visitor struct {
	User   string
	Scopes string    // what the visitor may do, in the caller's terms
	Until  time.Time // when the hash expires
}

// Admit stores the hash of a visitor's secret.
func (s *Store) Admit(ctx context.Context, hash []byte, v Visitor) error {
	return s.changeRow(ctx, subject(visitorKind, hex.EncodeToString(hash)), func(ctx context.Context, w *writer) (int64, error) {
		// Nothing else removes expired ones.
		if _, err := w.db.exec(ctx, "DELETE FROM visitor WHERE expires <= ?", time.Now().UnixMilli()); err != nil {
			return 0, err
		}
		return w.putVisitor(ctx, hash, v)
	})
}

func (w *writer) putVisitor(ctx context.Context, hash []byte, v Visitor) (rows int64, err error) {
	return w.db.exec(ctx, "INSERT OR REPLACE INTO visitor (hash, user, scopes, expires) VALUES (?, ?, ?, ?)",
		hash, v.User, v.Scopes, v.Until.UnixMilli())
}

// Admitted returns the visitor of a hash, or [ErrNotFound] if the hash is unknown or expired.
func (s *Store) Admitted(ctx context.Context, hash []byte) (Visitor, error) {
	return caughtUp(ctx, s, func() (Visitor, error) { return s.admitted(ctx, hash) })
}

func (s *Store) admitted(ctx context.Context, hash []byte) (Visitor, error) {
	return one(ctx, s, func(row scanner) (v Visitor, err error) {
		var until int64
		err = row.Scan(&v.User, &v.Scopes, &until)
		v.Until = time.UnixMilli(until)
		return v, err
	}, "SELECT user, scopes, expires FROM visitor WHERE hash = ? AND expires > ?", hash, time.Now().UnixMilli())
}

// Dismiss deletes a hash. An unknown hash is not an error.
func (s *Store) Dismiss(ctx context.Context, hash []byte) error {
	return s.changeRow(ctx, subject(visitorKind, hex.EncodeToString(hash)), func(ctx context.Context, w *writer) (int64, error) {
		return w.db.exec(ctx, "DELETE FROM visitor WHERE hash = ?", hash)
	})
}
