package store

import (
	"context"
	"encoding/json"
)

// removedRow is the number of a visitor or share that is removed for good. A change that another node made before it knew that
// may follow in the log.
const removedRow = 1

// sharedRow applies a change of what is shared as a whole. The newest in the log counts: a change that the log lacks will be that.
func (a *applier) sharedRow(ctx context.Context, kind, id string, m Logged, x *Progress, own bool) error {
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
		_, err = a.putVisitor(ctx, v.Hash, v.Visitor)
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
