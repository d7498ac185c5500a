package store

import (
	"context"
	"errors"
	"time"
)

// claimTime limits how long a claim is repeated while this store catches up with the log.
const claimTime = 5 * time.Second

// claimRetry is the pause between the attempts.
const claimRetry = 5 * time.Millisecond

// claim asks, in a cluster, for the change of a subject that the store permits, appends it to the log, and repeats both while other
// changes come in between. It returns the change and its sequence; without a cluster, nothing.
func (s *Store) claim(ctx context.Context, check func(context.Context, *writer) (Change, error)) (claim Logged, err error) {
	if s.options.Cluster == nil {
		return Logged{}, nil
	}
	for began := time.Now(); ; {
		if claim.Change, err = ask(ctx, s, check); err != nil {
			return claim, err
		}
		claim.Sequence, err = s.options.Cluster.Claim(ctx, claim.Change)
		if !errors.Is(err, ErrChanged) || time.Since(began) > claimTime {
			return claim, err
		}
		select {
		case <-time.After(claimRetry):
		case <-ctx.Done():
			return claim, ctx.Err()
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
	if c, err = w.claimOf(ctx, SessionSubject(id)); err != nil {
		return c, err
	}
	head, err := w.describe(ctx, id)
	c.Epoch, c.Changed, c.Session = head.Epoch+1, head.Changed.UnixMilli(), &head
	return c, err
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
