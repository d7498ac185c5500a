package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// readSize is the maximum size of one read, in bytes; one entry or line may be larger.
const readSize = 8 << 20

const selectSession = `SELECT id, origin, title, model, directory, created, changed, epoch, closed, last,
	ifnull(owner.key, 0), ifnull(owner.pid, 0), ifnull(owner.start, ''), ifnull(owner.host, ''), ifnull(meta.data, x'')
	FROM session LEFT JOIN meta ON meta.session = session.key LEFT JOIN owner ON owner.key = session.owner`

// scanSession scans a row of selectSession. It reports the owner unless dead reports that its process has ended.
func scanSession(dead func(owner) bool) func(scanner) (Session, error) {
	return func(row scanner) (Session, error) {
		var h Session
		var o owner
		var created, changed int64
		err := row.Scan(&h.ID, &h.Origin, &h.Title, &h.Model, &h.Directory, &created, &changed, &h.Epoch, &h.Closed, &h.Last,
			&o.key, &o.pid, &o.start, &o.host, &h.Meta)
		h.Created, h.Changed = time.UnixMilli(created), time.UnixMilli(changed)
		if o.pid != 0 && !dead(o) {
			h.Owner, h.OwnerName = o.pid, o.name()
		}
		return h, err
	}
}

// Session returns a stored session, or [ErrNotFound].
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	return caughtUp(ctx, s, func() (Session, error) { return s.find(ctx, id) })
}

func (s *Store) find(ctx context.Context, id string) (Session, error) {
	return one(ctx, s, scanSession(s.isDead), selectSession+" WHERE id = ?", id)
}

// List returns at most limit sessions after a cursor, newest change first, without those of some origins.
func (s *Store) List(ctx context.Context, after Cursor, limit int, without ...string) ([]Session, error) {
	query, args := selectSession+" WHERE true", []any{}
	if after != (Cursor{}) {
		query += " AND (changed, id) < (?, ?)"
		args = append(args, after.Changed.UnixMilli(), after.ID)
	}
	for _, origin := range without {
		query += " AND origin <> ?"
		args = append(args, origin)
	}
	return many(ctx, s, scanSession(s.deadCache()), query+" ORDER BY changed DESC, id DESC LIMIT ?", append(args, limit)...)
}

// Pinned returns at most limit pinned sessions, newest change first.
func (s *Store) Pinned(ctx context.Context, limit int) ([]Session, error) {
	return many(ctx, s, scanSession(s.deadCache()),
		selectSession+" WHERE session.key IN (SELECT session FROM pinned) ORDER BY changed DESC, id DESC LIMIT ?", limit)
}

// Positions returns the stored positions of a session by name.
func (s *Store) Positions(ctx context.Context, id string) (map[string]uint64, error) {
	positions := map[string]uint64{}
	_, err := many(ctx, s, func(row scanner) (name string, err error) {
		var number uint64
		err = row.Scan(&name, &number)
		positions[name] = number
		return name, err
	}, "SELECT name, number FROM position WHERE session = (SELECT key FROM session WHERE id = ?)", id)
	return positions, err
}

// WithPosition returns the ids of sessions that no process holds and that have a position of this name, newest change first.
func (s *Store) WithPosition(ctx context.Context, name string) ([]string, error) {
	return many(ctx, s, column[string], `SELECT session.id FROM position JOIN session ON session.key = position.session
		WHERE position.name = ? AND session.owner IS NULL ORDER BY session.changed DESC`, name)
}

// Read returns at most limit entries (0: no limit) and 8 MiB of a session after a number, at least one. It returns none if
// there are no more at present, or no such session, and fails with a [*DamagedError] if the next ones are damaged.
func (s *Store) Read(ctx context.Context, id string, after uint64, limit int) ([]Entry, error) {
	return s.readUpTo(ctx, id, after, limit, readSize)
}

// readUpTo is Read for a number of bytes.
func (s *Store) readUpTo(ctx context.Context, id string, after uint64, limit, bytes int) ([]Entry, error) {
	// One transaction, so that no payload that the segments name is deleted in between.
	tx, err := s.read.Load().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, s.readError(err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	key, found, err := segments(ctx, tx, id, after, limit, bytes)
	_, isDamaged := errors.AsType[*DamagedError](err)
	if err != nil && (!isDamaged || len(found) == 0) { // otherwise the next read reports it
		return nil, s.readError(err)
	}
	r := resolver{tx: tx, id: id, session: key, known: map[string][]byte{}}
	var entries []Entry
	size := 0
	for _, p := range found {
		e, err := r.entry(ctx, p)
		if errors.Is(err, errPayload) && len(entries) > 0 {
			break // the next read reports it
		}
		if err != nil {
			return nil, s.readError(err)
		}
		if size += e.size(); size > bytes && len(entries) > 0 {
			break
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// segments returns the packed entries after a number, also those before an error.
func segments(ctx context.Context, tx *sql.Tx, id string, after uint64, limit, bytes int) (key int64, found []packedEntry, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT session, last, data FROM segment
		WHERE session = (SELECT key FROM session WHERE id = ?) AND last > ? ORDER BY last`, id, int64(min(after, 1<<63-1)))
	if err != nil {
		return 0, nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	size := 0
	for rows.Next() && size <= bytes && (limit <= 0 || len(found) < limit) {
		entries, err := scanSegment(rows, id, &key)
		if err != nil {
			return key, found, err
		}
		for _, e := range entries {
			if e.number > after && (limit <= 0 || len(found) < limit) {
				found = append(found, e)
				size += e.data.inline() + e.payload.inline()
			}
		}
	}
	return key, found, rows.Err()
}

// scanSegment decodes a row of segments.
func scanSegment(row scanner, id string, key *int64) ([]packedEntry, error) {
	var data []byte
	var last uint64
	if err := row.Scan(key, &last, &data); err != nil {
		return nil, err
	}
	entries, err := decode(data)
	if err == nil && (len(entries) == 0 || entries[len(entries)-1].number != last) {
		err = errSegment
	}
	if err != nil {
		return nil, &DamagedError{Session: id, Last: last, cause: err}
	}
	return entries, nil
}

// resolver finds payloads by their hashes.
type resolver struct {
	tx      *sql.Tx
	id      string
	session int64
	known   map[string][]byte
}

func (r resolver) entry(ctx context.Context, p packedEntry) (e Entry, err error) {
	e.Number = p.number
	if e.Data, err = r.bytes(ctx, p.data); err == nil {
		e.Payload, err = r.bytes(ctx, p.payload)
	}
	if errors.Is(err, errPayload) {
		err = &DamagedError{Session: r.id, Last: p.number, cause: err}
	}
	return e, err
}

func (r resolver) bytes(ctx context.Context, p entryPart) ([]byte, error) {
	if p.hash == nil {
		return p.bytes, nil
	}
	if data, ok := r.known[string(p.hash)]; ok {
		return data, nil
	}
	var data []byte
	err := r.tx.QueryRowContext(ctx, "SELECT data FROM payload WHERE session = ? AND hash = ?", r.session, p.hash).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errPayload
	}
	r.known[string(p.hash)] = data
	return data, err
}

// many runs a query on a reading connection and returns the result of scan for each row.
func many[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	list, err := collect(ctx, s.read.Load(), scan, query, args...)
	return list, s.readError(err)
}

// one is many for a query with at most one row. It fails with [ErrNotFound] if there is none.
func one[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), query string, args ...any) (found T, err error) {
	list, err := many(ctx, s, scan, query, args...)
	switch {
	case err != nil:
		return found, err
	case len(list) == 0:
		return found, ErrNotFound
	}
	return list[0], nil
}

// readError converts an error for people. If the file is damaged, the writer examines it.
func (s *Store) readError(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-s.done:
		return ErrClosed
	default:
	}
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		s.options.Log.Warn("a part of a stored record is damaged; readers get a gap in its place", "error", damaged)
	}
	err = s.options.failure(err)
	if kind(err) == Corrupt {
		select {
		case s.damage <- err:
			signal(s.wake)
		default:
		}
	}
	return err
}

// examineEvery is how often the file is examined at most: that may read all of it.
const examineEvery = time.Minute

// examine looks for damage that a reader has found. What cannot be repaired is moved aside.
func (w *writer) examine(ctx context.Context) {
	var found error
	select {
	case found = <-w.damage:
	default:
	}
	if found == nil || !w.examined.IsZero() && time.Since(w.examined) < examineEvery {
		return
	}
	w.examined = time.Now()
	_ = w.try(ctx, func(ctx context.Context) error { // the next attempt to write reports a failure
		if isIndexDamage(found) {
			return w.db.rebuildIndex(ctx)
		}
		return w.db.check(ctx)
	})
}
