package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// shut closes the file; readers keep what they have until there is another.
func (w *writer) shut() {
	if w.db != nil {
		w.db.close(w.db.read != w.read.Load())
		w.db = nil
	}
}

// open opens the file, again if need be, and puts the sessions held here into one that is new.
func (w *writer) open(ctx context.Context, damaged bool) error {
	deadline := time.Now().Add(w.options.Busy)
	if err := prepare(w.options); err != nil {
		return w.options.refused(err)
	}
	unlock, err := w.lock(ctx, deadline)
	if err != nil {
		return err
	}
	defer unlock()
	replaced := w.db != nil && !w.db.isSameFile()
	damaged = damaged && !replaced // another process may have moved it already
	w.shut()
	if !damaged {
		err = w.openDatabase(ctx, deadline)
	}
	if damaged || kind(err) == Corrupt {
		err = w.begin(ctx, deadline)
	}
	if replaced && err == nil {
		w.note(&Failure{Kind: Replaced, Since: time.Now(), Text: fmt.Sprintf(
			"%s was removed or replaced; what it held before is not in the present one", w.options.file())})
	}
	return err
}

// lock keeps others from opening the file at the same time.
func (w *writer) lock(ctx context.Context, deadline time.Time) (unlock func(), err error) {
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	unlock, err = lock(limited, w.options.file()+".lock")
	switch {
	case err == nil:
		return unlock, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, w.options.describe(Locked, errors.New("another process has been opening it all the time"))
	}
	return nil, w.options.refused(err)
}

// begin moves a damaged file aside and begins a fresh one.
func (w *writer) begin(ctx context.Context, deadline time.Time) error {
	w.shut()
	to, err := moveAside(w.options)
	if err != nil {
		return w.options.refused(fmt.Errorf("it is damaged and cannot be moved aside: %w", err))
	}
	w.note(&Failure{Kind: Corrupt, Since: time.Now(), Text: fmt.Sprintf(
		"%s was damaged; it was kept as %s (try: sqlite3 %[2]q .recover), and a fresh one begun", w.options.file(), to)})
	return w.openDatabase(ctx, deadline)
}

// note keeps what happened to the file, and says it.
func (w *writer) note(t *Failure) {
	w.moved.Store(t)
	w.options.Log.Error(t.Text, "kind", t.Kind)
}

// openDatabase opens the file and makes it the one in use.
func (w *writer) openDatabase(ctx context.Context, deadline time.Time) error {
	db, err := connect(ctx, w.options, deadline)
	if err != nil {
		return err
	}
	w.db = db
	var newest sql.NullInt64
	if err = w.restore(ctx); err == nil {
		err = db.row(ctx, "SELECT max(changed) FROM session", nil, &newest)
	}
	if err != nil {
		w.shut()
		return w.options.failure(err)
	}
	if old := w.read.Swap(db.read); old != nil {
		_ = old.Close()
	}
	w.newest = time.UnixMilli(newest.Int64)
	w.checkClock(w.newest, time.Now())
	return nil
}

// restore puts the sessions held here into the file if it does not know them.
func (w *writer) restore(ctx context.Context) error {
	if len(w.leases) == 0 {
		return nil
	}
	var lost []*Lease
	err := w.db.transaction(ctx, func() error {
		lost = lost[:0]
		for _, l := range w.leases {
			var holder sql.NullInt64
			var epoch uint64
			err := w.db.row(ctx, "SELECT key, epoch, owner FROM session WHERE id = ?", []any{l.id}, &l.key, &epoch, &holder)
			switch {
			case errors.Is(err, sql.ErrNoRows):
				err = w.insert(ctx, l)
			case err == nil && (epoch != l.epoch || holder.Int64 != w.self.key):
				lost = append(lost, l)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return w.options.failure(err)
	}
	for _, l := range lost {
		w.lose(l)
	}
	return nil
}
