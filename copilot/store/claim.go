package store

import (
	"context"
	"errors"
	"slices"
	"time"
)

// claimTime limits how long a claim is repeated while this store catches up with the log.
const claimTime = 5 * time.Second

// claimRetry is the pause between the attempts.
const claimRetry = 5 * time.Millisecond

// claim asks for the change of a subject that the store permits, appends it to the log, and repeats both while other changes
// come in between. It returns the change and its sequence.
func (s *Store) claim(ctx context.Context, check func(context.Context, *writer) (Change, error)) (c Change, sequence uint64, err error) {
	for began := time.Now(); ; {
		if c, err = ask(ctx, s, check); err != nil {
			return c, 0, err
		}
		sequence, err = s.options.Cluster.Claim(ctx, c)
		if !errors.Is(err, ErrChanged) || time.Since(began) > claimTime {
			return c, sequence, err
		}
		select {
		case <-time.After(claimRetry):
		case <-ctx.Done():
			return c, 0, ctx.Err()
		}
		_ = s.options.Cluster.CatchUp(ctx) // the next attempt fails
	}
}

// claimOf returns the claim of a subject as it is applied here.
func (w *writer) claimOf(ctx context.Context, subject string) (c Change, err error) {
	x, err := w.progress(ctx, subject)
	return Change{Subject: subject, Process: w.self.name(), Owner: w.ownerOf(), Claim: true, Expect: x.Sequence, Last: x.Number}, err
}

// claimSession returns the claim of a session that no process holds.
func (w *writer) claimSession(ctx context.Context, id string) (c Change, err error) {
	if _, err := w.freeSessionKey(ctx, id); err != nil {
		return c, err
	}
	if c, err = w.claimOf(ctx, subject(sessionKind, id)); err != nil {
		return c, err
	}
	head, err := w.describe(ctx, id)
	c.Epoch, c.Changed, c.Session = head.Epoch+1, head.Changed.UnixMilli(), &head
	return c, err
}

// acquireInCluster is Acquire in a cluster.
func (s *Store) acquireInCluster(ctx context.Context, id string) (*Lease, error) {
	c, sequence, err := s.claim(ctx, func(ctx context.Context, w *writer) (Change, error) { return w.claimSession(ctx, id) })
	if err != nil {
		return nil, err
	}
	return ask(ctx, s, func(ctx context.Context, w *writer) (*Lease, error) { return w.acquire(ctx, id, &Logged{c, sequence}) })
}

// epochOf returns the epoch of a claim; nil without one.
func epochOf(claim *Logged) any {
	if claim == nil {
		return nil
	}
	return claim.Epoch
}

// claimed stores that the log has a claim of this process, unless a later change is applied already.
func (w *writer) claimed(ctx context.Context, m Logged) error {
	n, err := w.db.exec(ctx, `INSERT INTO shared (subject, sequence, number, version, shipped) VALUES (?, ?, ?, 0, 0)
		ON CONFLICT (subject) DO UPDATE SET sequence = excluded.sequence WHERE excluded.sequence >= sequence`, m.Subject, m.Sequence, m.Last)
	if err == nil && n == 0 {
		return ErrChanged
	}
	return err
}

// claimRemoval appends the removal of a free session to the log of the cluster, if there is one.
func (s *Store) claimRemoval(ctx context.Context, id string, until int64) error {
	if s.options.Cluster == nil {
		return nil
	}
	_, _, err := s.claim(ctx, func(ctx context.Context, w *writer) (Change, error) {
		c, err := w.claimSession(ctx, id)
		if err == nil && c.Changed > until {
			err = errNewer
		}
		c.Removed, c.Owner, c.Session = true, nil, nil
		return c, err
	})
	return err
}

// removeDoneInCluster is removeDone in a cluster: it removes the activity from all nodes.
func (s *Store) removeDoneInCluster(ctx context.Context, kind string, after Cursor, before time.Time) (found Cursor, err error) {
	var key int64
	c, sequence, err := s.claim(ctx, func(ctx context.Context, w *writer) (c Change, err error) {
		if key, found, err = w.oldestDone(ctx, kind, after, before); err != nil {
			return c, err
		}
		if key == 0 {
			return c, ErrNotFound
		}
		c, err = w.claimOf(ctx, subject(kind, found.ID))
		c.Removed, c.Owner = true, nil
		return c, err
	})
	if errors.Is(err, ErrNotFound) {
		return Cursor{}, nil
	}
	if err == nil {
		err = s.do(ctx, func(ctx context.Context, w *writer) error {
			return w.db.transaction(ctx, func() error {
				if err := w.claimed(ctx, Logged{c, sequence}); err != nil {
					return err
				}
				return w.removeActivity(ctx, key)
			})
		})
	}
	return found, err
}

// adoptInCluster is Adopt in a cluster.
func (s *Store) adoptInCluster(ctx context.Context, kind string) (adopted []Activity, err error) {
	free, err := ask(ctx, s, func(ctx context.Context, w *writer) ([]Activity, error) { return w.free(ctx, kind) })
	for _, a := range free {
		c, sequence, failed := s.claim(ctx, func(ctx context.Context, w *writer) (Change, error) {
			still, err := w.free(ctx, kind)
			if err == nil && !slices.ContainsFunc(still, func(x Activity) bool { return x.ID == a.ID }) {
				err = ErrLost
			}
			if err != nil {
				return Change{}, err
			}
			return w.claimActivity(ctx, kind, a.ID)
		})
		if failed == nil {
			failed = s.do(ctx, func(ctx context.Context, w *writer) error {
				return w.db.transaction(ctx, func() error { return w.adoptActivity(ctx, &a, Logged{c, sequence}) })
			})
		}
		switch {
		case failed == nil:
			adopted = append(adopted, a)
		case !errors.Is(failed, ErrLost) && !errors.Is(failed, ErrChanged):
			err = errors.Join(err, failed)
		}
	}
	return adopted, err
}

// claimActivity returns the claim of an activity.
func (w *writer) claimActivity(ctx context.Context, kind, id string) (c Change, err error) {
	if c, err = w.claimOf(ctx, subject(kind, id)); err != nil {
		return c, err
	}
	a, err := w.activity(ctx, kind, id)
	a.Owner, a.OwnerName = 0, ""
	c.Activity = &a
	return c, err
}

// adoptActivity makes this process the owner of an activity that it has claimed, and reads it again.
func (w *writer) adoptActivity(ctx context.Context, a *Activity, m Logged) error {
	if err := w.claimed(ctx, m); err != nil {
		return err
	}
	if err := w.registerOwner(ctx); err != nil {
		return err
	}
	if _, err := w.db.exec(ctx, "UPDATE activity SET owner = ? WHERE kind = ? AND id = ?", w.self.key, a.Kind, a.ID); err != nil {
		return err
	}
	found, err := scanActivity(w.isDead)(w.db.conn.QueryRowContext(ctx, selectActivity+" WHERE kind = ? AND id = ?", a.Kind, a.ID))
	*a = found
	w.begun[a.name()] = struct{}{}
	return err
}
