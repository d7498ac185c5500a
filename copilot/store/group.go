package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"time"
)

// writeResult is the outcome of a session's part of a group.
type writeResult struct {
	lease   *Lease
	lost    bool
	last    uint64
	version uint64 // in a cluster
	changed int64  // when the session changed, in milliseconds; 0: as before
}

// group writes the pending data of some sessions in one transaction. If it fails, nothing is written and everything
// stays pending.
func (w *writer) group(ctx context.Context, leases []*Lease) error {
	w.grouped = max(w.grouped, len(leases))
	if len(leases) == 0 {
		return nil
	}
	now := time.Now()
	w.checkClock(w.newest, now)
	results := make([]writeResult, len(leases))
	err := w.db.transaction(ctx, func() (err error) {
		for i := 0; i < len(leases) && err == nil; i++ {
			results[i], err = w.write(ctx, leases[i], now)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, o := range results {
		w.clearWritten(o)
	}
	if now.After(w.newest) {
		w.newest = now
	}
	return nil
}

// clearWritten removes written data from the lease.
func (w *writer) clearWritten(o writeResult) {
	l := o.lease
	if o.lost {
		w.lose(l)
		return
	}
	if w.options.Cluster != nil {
		w.recent.add(SessionSubject(l.id), w.piece(o))
	}
	if l.writing.head != nil {
		l.head = *l.writing.head
		l.head.ID = l.id
	}
	w.scheduleRewrite(l)
	l.stored.Store(o.last)
	freed := l.writing.bytes
	l.writing.reset()
	w.bytes.Add(-int64(freed))
}

// write writes the pending data of one session, if this process still holds it. It skips stored entries, because a
// commit that was reported as failed may have succeeded.
func (w *writer) write(ctx context.Context, l *Lease, now time.Time) (writeResult, error) {
	var epoch, last uint64
	var holder sql.NullInt64
	err := w.db.row(ctx, "SELECT epoch, last, owner FROM session WHERE key = ?", []any{l.key}, &epoch, &last, &holder)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (epoch != l.epoch || holder.Int64 != w.self.key) {
		return writeResult{lease: l, lost: true}, nil
	}
	if err != nil {
		return writeResult{}, err
	}
	b := &l.writing
	if last, err = w.entries(ctx, l.key, last, b.entries, math.MaxInt); err != nil {
		return writeResult{}, err
	}
	var changed int64
	if len(b.entries)+len(b.texts) > 0 || b.head != nil {
		changed = l.changed(now)
		if _, err := w.db.exec(ctx, "UPDATE session SET last = ?, changed = max(changed, ?) WHERE key = ?",
			last, changed, l.key); err != nil {
			return writeResult{}, err
		}
	}
	if err := w.writeMeta(ctx, l); err != nil {
		return writeResult{}, err
	}
	version, err := w.change(ctx, SessionSubject(l.id))
	return writeResult{lease: l, last: last, version: version, changed: changed}, err
}

// changed returns when the session last changed, in milliseconds: as set by its holder, or now.
func (l *Lease) changed(now time.Time) int64 {
	switch h := l.writing.head; {
	case h != nil && !h.Changed.IsZero():
		l.dated = true
		return h.Changed.UnixMilli()
	case l.dated:
		return 0
	}
	return now.UnixMilli()
}

// pin adds a session to the pinned ones, or removes it.
func (w *writer) pin(ctx context.Context, key int64, pinned bool) error {
	query := "DELETE FROM pinned WHERE session = ?"
	if pinned {
		query = "INSERT OR IGNORE INTO pinned (session) VALUES (?)"
	}
	_, err := w.db.exec(ctx, query, key)
	return err
}

// writeHead writes what describes a session, besides its last change; its meta unless that is stored already.
func (w *writer) writeHead(ctx context.Context, key int64, h *Session, hasMeta bool) error {
	if _, err := w.db.exec(ctx, "UPDATE session SET origin = ?, title = ?, model = ?, directory = ?, closed = ? WHERE key = ?",
		h.Origin, h.Title, h.Model, h.Directory, h.Closed, key); err != nil {
		return err
	}
	if err := w.pin(ctx, key, h.Pinned); err != nil || hasMeta {
		return err
	}
	return w.meta(ctx, key, h.Meta)
}

// writeMeta writes the pending data of a session other than entries.
func (w *writer) writeMeta(ctx context.Context, l *Lease) error {
	if h := l.writing.head; h != nil {
		if err := w.writeHead(ctx, l.key, h, bytes.Equal(h.Meta, l.head.Meta)); err != nil {
			return err
		}
	}
	for name, number := range l.writing.marks {
		if err := w.position(ctx, l.key, name, number); err != nil {
			return err
		}
		if _, err := w.change(ctx, positionSubject(l.id, name)); err != nil {
			return err
		}
	}
	return w.texts(ctx, l.key, l.writing.texts)
}

func (w *writer) texts(ctx context.Context, key int64, texts []Text) error {
	for _, t := range texts {
		if _, err := w.db.exec(ctx, "INSERT OR IGNORE INTO text (session, number, kind, body) VALUES (?, ?, ?, ?)", key, t.Number, t.Kind, t.Body); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) meta(ctx context.Context, key int64, data []byte) error {
	_, err := w.db.exec(ctx, "INSERT OR REPLACE INTO meta (session, data) VALUES (?, ifnull(?, x''))", key, data)
	return err
}

// entries writes the entries after the last stored one as segments, compressed from a number of bytes on. It returns the last number.
func (w *writer) entries(ctx context.Context, key int64, last uint64, entries []Entry, compressFrom int) (now uint64, err error) {
	var group []packedEntry
	room := segmentSize
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		s := newSegment(group, compressFrom)
		group, room = group[:0], segmentSize
		return w.insertSegment(ctx, key, s)
	}
	for _, e := range entries {
		if e.Number <= last {
			continue
		}
		p := pack(e)
		if err := w.payloads(ctx, key, p); err != nil {
			return 0, err
		}
		group, last = append(group, p), e.Number
		if room -= p.data.inline() + p.payload.inline() + 8; room <= 0 {
			if err := flush(); err != nil {
				return 0, err
			}
		}
	}
	return last, flush()
}

func (w *writer) insertSegment(ctx context.Context, key int64, s stored) error {
	_, err := w.db.exec(ctx, "INSERT INTO segment (session, first, last, small, size, data) VALUES (?, ?, ?, ?, ?, ?)",
		key, s.first, s.last, s.small, s.size, s.data)
	return err
}

// payloads writes the payloads of an entry that the session does not have yet.
func (w *writer) payloads(ctx context.Context, key int64, e packedEntry) error {
	for _, p := range []entryPart{e.data, e.payload} {
		if p.hash == nil {
			continue
		}
		if _, err := w.db.exec(ctx, "INSERT OR IGNORE INTO payload (session, hash, data) VALUES (?, ?, ?)", key, p.hash, p.bytes); err != nil {
			return err
		}
	}
	return nil
}

// mark names a position in a session.
type mark struct{ session, name string }

// maxMarks bounds the positions that wait to be written.
const maxMarks = 10_000

// SetPosition is [Lease.Position] for a session that this process does not hold, because a client may read a suspended
// one. It never waits, and does nothing if there is no such session. It fails with [ErrBacklog] while too many
// positions wait to be written.
func (s *Store) SetPosition(session, name string, number uint64) error {
	if number > math.MaxInt64 {
		return ErrOrder
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if len(s.marks) >= maxMarks {
		return ErrBacklog
	}
	if s.marks == nil {
		s.marks = map[mark]uint64{}
	}
	s.marks[mark{session, name}] = number
	signal(s.wake)
	return nil
}

// SharePosition is [Store.SetPosition] for a cluster: it returns nil when every node can know the position, or this store cannot be written. If
// it fails, the log cannot be reached, and they may know the position later.
func (s *Store) SharePosition(ctx context.Context, session, name string, number uint64) error {
	s.mu.Lock()
	delete(s.marks, mark{session, name}) // a waiting one is older, and would replace this one
	s.mu.Unlock()
	awaitLog, err := s.writeRow(ctx, positionSubject(session, name), func(ctx context.Context, w *writer) (rows int64, err error) {
		return w.positionOf(ctx, mark{session, name}, number)
	})
	if err != nil {
		return ctx.Err() // nil: readers get the rest from this node's memory
	}
	return awaitLog()
}

// AwaitShared returns when the log of the cluster has a session as it is stored now. It fails if the log cannot be reached.
func (s *Store) AwaitShared(ctx context.Context, session string) error {
	if s.options.Cluster == nil {
		return nil
	}
	x, err := s.Progress(ctx, SessionSubject(session))
	if err != nil {
		return err
	}
	return s.options.Cluster.Await(ctx, SessionSubject(session), x.Version)
}

// CatchUp returns nil when everything that the nodes of the cluster have written by now can be read here. It fails if the log cannot be
// reached for a while, and at once if this node has been cut off for longer than its lease.
func (s *Store) CatchUp(ctx context.Context) error {
	if s.options.Cluster == nil {
		return nil
	}
	return s.options.Cluster.CatchUp(ctx)
}

// writePositions writes the positions set by [Store.SetPosition]. If that fails, they wait again unless newer ones
// replaced them.
func (w *writer) writePositions(ctx context.Context) error {
	w.mu.Lock()
	marks := w.marks
	w.marks = nil
	w.mu.Unlock()
	if len(marks) == 0 {
		return nil
	}
	err := w.db.transaction(ctx, func() error {
		for m, number := range marks {
			rows, err := w.positionOf(ctx, m, number)
			if err != nil {
				return err
			}
			if rows == 0 {
				continue
			}
			if _, err := w.change(ctx, positionSubject(m.session, m.name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		maps.Copy(marks, w.marks)
		w.marks = marks
	}
	return err
}

// positionOf writes a position. It returns 0 if the session is unknown, else 1.
func (w *writer) positionOf(ctx context.Context, m mark, number uint64) (rows int64, err error) {
	var key int64
	err = w.db.row(ctx, "SELECT key FROM session WHERE id = ?", []any{m.session}, &key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return 1, w.position(ctx, key, m.name, number)
}

func (w *writer) position(ctx context.Context, session int64, name string, number uint64) error {
	query, args := "DELETE FROM position WHERE session = ? AND name = ?", []any{session, name}
	if number > 0 {
		query = "INSERT OR REPLACE INTO position (session, name, number) VALUES (?, ?, ?)"
		args = append(args, number)
	}
	_, err := w.db.exec(ctx, query, args...)
	return err
}
