package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/flock"
)

// closeFile closes the file. Readers keep theirs until a new one is open.
func (w *writer) closeFile() {
	if w.db != nil {
		w.db.close(w.db.read != w.read.Load())
		w.db = nil
	}
}

// open opens or reopens the file, and restores the sessions held here into a new file.
func (w *writer) open(ctx context.Context, damaged bool) error {
	deadline := time.Now().Add(w.options.Busy)
	if err := prepare(w.options); err != nil {
		return w.options.systemFailure(err)
	}
	held, err := w.lock(ctx, deadline)
	if err != nil {
		return err
	}
	defer held.Close() //nolint:errcheck // ends the lock
	replaced := w.db != nil && !w.db.isSameFile()
	damaged = damaged && !replaced // another process may already have moved it
	if replaced {
		if err := w.db.removeLog(); err != nil {
			return w.options.systemFailure(err)
		}
		w.note(&Failure{Kind: Replaced, Since: time.Now(), Text: fmt.Sprintf(
			"%s was removed or replaced; its previous content is not in the new file", w.options.file())})
	}
	w.closeFile()
	if !damaged {
		err = w.openDatabase(ctx, deadline)
	}
	if damaged || kind(err) == Corrupt {
		err = w.replaceDamaged(ctx, deadline)
	}
	return err
}

// lock keeps other processes from opening the file at the same time.
func (w *writer) lock(ctx context.Context, deadline time.Time) (*os.File, error) {
	limited, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	held, err := flock.Lock(limited, w.options.file()+".lock")
	switch {
	case err == nil:
		return held, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, w.options.describe(Locked, errors.New("another process is still opening it"))
	}
	return nil, w.options.systemFailure(err)
}

// replaceDamaged moves a damaged file aside and creates a new one.
func (w *writer) replaceDamaged(ctx context.Context, deadline time.Time) error {
	w.closeFile()
	to, err := moveAside(w.options)
	if err != nil {
		return w.options.systemFailure(fmt.Errorf("the file is damaged and cannot be moved aside: %w", err))
	}
	w.note(&Failure{Kind: Corrupt, Since: time.Now(), Text: fmt.Sprintf(
		"%s was damaged; it was kept as %s (try: sqlite3 %[2]q .recover) and replaced by a new file", w.options.file(), to)})
	return w.openDatabase(ctx, deadline)
}

// note records and logs what happened to the file.
func (w *writer) note(t *Failure) {
	w.moved.Store(t)
	w.options.Log.Error(t.Text, "kind", t.Kind)
}

// openDatabase opens the file and starts to use it.
func (w *writer) openDatabase(ctx context.Context, deadline time.Time) error {
	db, err := connect(ctx, w.options, deadline)
	if err != nil {
		return err
	}
	w.db, w.firstVersion = db, time.Now().UnixMicro()
	var newest sql.NullInt64
	if err = w.restore(ctx); err == nil {
		err = db.row(ctx, "SELECT max(changed) FROM session", nil, &newest)
	}
	if err != nil {
		w.closeFile()
		return w.options.failure(err)
	}
	if old := w.read.Swap(db.read); old != nil {
		_ = old.Close()
	}
	w.newest = time.UnixMilli(newest.Int64)
	w.checkClock(w.newest, time.Now())
	return nil
}

// restore stores the sessions held here that are missing in the file. In a cluster, nothing is held in a file that is to be filled from
// the log: what was stored in it now would get numbers that the log has given already.
func (w *writer) restore(ctx context.Context) error {
	if len(w.leases)+len(w.begun) == 0 {
		return nil
	}
	var lost []*Lease
	err := w.db.transaction(ctx, func() error {
		lost = lost[:0]
		if behind, err := w.isBehind(ctx); err != nil {
			return err
		} else if behind {
			lost = slices.Collect(maps.Values(w.leases))
			return w.disownActivities(ctx)
		}
		for _, l := range w.leases {
			held, err := w.restoreLease(ctx, l)
			if err != nil {
				return err
			}
			if !held {
				lost = append(lost, l)
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

// restoreLease stores a session held here if it is missing in the file, with an entry without data in place of the entries that the file
// lacks. It reports whether this process holds the session.
func (w *writer) restoreLease(ctx context.Context, l *Lease) (held bool, err error) {
	var holder sql.NullInt64
	var epoch, last uint64
	err = w.db.row(ctx, "SELECT key, epoch, owner, last FROM session WHERE id = ?", []any{l.id}, &l.key, &epoch, &holder, &last)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		err = w.insert(ctx, l)
	case err == nil && (epoch != l.epoch || holder.Int64 != w.self.key):
		return false, nil
	}
	if err != nil || last >= l.stored.Load() {
		return true, err
	}
	if last, err = w.entries(ctx, l.key, last, []Entry{{Number: l.stored.Load()}}, math.MaxInt); err == nil {
		_, err = w.db.exec(ctx, "UPDATE session SET last = ? WHERE key = ?", last, l.key)
	}
	return true, err
}

// disownActivities ends what this process does with activities.
func (w *writer) disownActivities(ctx context.Context) error {
	clear(w.begun)
	_, err := w.db.exec(ctx, "UPDATE activity SET owner = NULL WHERE owner = ?", w.self.key)
	return err
}

// openReadOnly opens a file that cannot be written at present for reading; the writer keeps trying to open it. It returns the
// cause if the file cannot be read without changing it.
func (w *writer) openReadOnly(ctx context.Context, cause error) error {
	if !slices.Contains([]Kind{ReadOnly, Full, Locked, Failed}, kind(cause)) {
		return cause
	}
	modes := []string{"mode=ro"}
	info, err := os.Stat(w.options.file() + "-wal")
	if hasLog := err == nil && info.Size() > 0; !hasLog && kind(cause) != Locked { // then another process may change the file
		modes = append(modes, "mode=ro&immutable=1") // otherwise SQLite creates files beside it in order to read it
	}
	for _, mode := range modes {
		if db := w.options.openReading(ctx, mode); db != nil {
			w.read.Store(db)
			w.retryLater(cause)
			return nil
		}
	}
	return cause
}

// retryLater records what prevents writing from the start.
func (w *writer) retryLater(cause error) {
	w.fail(cause)
	w.pause, w.retry = maxPause, time.Now().Add(maxPause)
}

// openReading opens a file of the current version in one of SQLite's modes. It returns nil if that fails. It does not wait for locks as long
// as writers do: those have just waited, and keep no reader of a write-ahead log from reading.
func (o Options) openReading(ctx context.Context, mode string) *sql.DB {
	d := &database{options: o}
	db, err := sql.Open("sqlite", d.source(min(o.Busy, time.Second), "query_only(1)")+"&"+mode)
	if err != nil {
		return nil
	}
	db.SetMaxOpenConns(4)
	var version, mark int
	err = db.QueryRowContext(ctx, "SELECT user_version, application_id FROM pragma_user_version, pragma_application_id").Scan(&version, &mark)
	if err != nil || version != len(migrations()) || mark != application {
		_ = db.Close()
		return nil
	}
	return db
}
