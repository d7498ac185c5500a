package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"time"
)

// writeResult is what became of a session's part of a group.
type writeResult struct {
	lease *Lease
	lost  bool
	last  uint64
}

// group writes what some sessions have to be written, in one transaction. If it fails, nothing was written and all of it
// is still there.
func (w *writer) group(ctx context.Context, leases []*Lease) error {
	if len(leases) == 0 {
		return nil
	}
	now := time.Now()
	w.checkClock(w.newest, now)
	var outcomes []writeResult
	err := w.db.transaction(ctx, func() error {
		outcomes = outcomes[:0]
		for _, l := range leases {
			o, err := w.write(ctx, l, now)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, o)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		w.clearWritten(o)
	}
	if now.After(w.newest) {
		w.newest = now
	}
	return nil
}

// clearWritten forgets what was written.
func (w *writer) clearWritten(o writeResult) {
	l := o.lease
	if o.lost {
		if w.leases[l.id] == l {
			w.lose(l)
		}
		return
	}
	if l.writing.head != nil {
		l.head = *l.writing.head
		l.head.ID = l.id
	}
	w.scheduleBackground(l)
	l.stored.Store(o.last)
	freed := l.writing.bytes
	l.writing.reset()
	w.bytes.Add(-int64(freed))
}

// write writes what one session has, if it is still held here. Entries that are there already are left out: a commit
// may succeed and yet be reported as failed.
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
	size, last, err := w.entries(ctx, l.key, last, b.entries)
	if err != nil {
		return writeResult{}, err
	}
	if len(b.entries)+len(b.texts) > 0 || b.head != nil {
		if _, err := w.db.exec(ctx, "UPDATE session SET last = ?, size = size + ?, changed = max(changed, ?) WHERE key = ?",
			last, size, l.changed(now), l.key); err != nil {
			return writeResult{}, err
		}
	}
	return writeResult{lease: l, last: last}, w.writeMeta(ctx, l)
}

// changed is when something happened in the session, in milliseconds: as its owner says, or now if he does not.
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

// writeMeta writes what a session has besides entries.
func (w *writer) writeMeta(ctx context.Context, l *Lease) error {
	if err := w.update(ctx, l); err != nil {
		return err
	}
	for name, number := range l.writing.marks {
		if err := w.position(ctx, l.key, name, number); err != nil {
			return err
		}
	}
	for _, t := range l.writing.texts {
		if _, err := w.db.exec(ctx, "INSERT OR IGNORE INTO text (session, number, kind, body) VALUES (?, ?, ?, ?)",
			l.key, t.Number, t.Kind, clean(t.Body)); err != nil {
			return err
		}
	}
	return nil
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

// update writes what is known of a session, where it has changed.
func (w *writer) update(ctx context.Context, l *Lease) error {
	h := l.writing.head
	if h == nil {
		return nil
	}
	if _, err := w.db.exec(ctx, "UPDATE session SET origin = ?, title = ?, model = ?, directory = ?, closed = ? WHERE key = ?",
		h.Origin, h.Title, h.Model, h.Directory, h.Closed, l.key); err != nil {
		return err
	}
	if bytes.Equal(h.Meta, l.head.Meta) {
		return nil
	}
	return w.meta(ctx, l.key, h.Meta)
}

func (w *writer) meta(ctx context.Context, key int64, data []byte) error {
	if data == nil {
		data = []byte{}
	}
	_, err := w.db.exec(ctx, "INSERT OR REPLACE INTO meta (session, data) VALUES (?, ?)", key, data)
	return err
}

// entries writes entries behind the last stored one as segments, and tells how many bytes that took and which is the
// last one now.
func (w *writer) entries(ctx context.Context, key int64, last uint64, entries []Entry) (size int64, now uint64, err error) {
	var group []packedEntry
	room := segmentSize
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		data := encode(group)
		size += int64(len(data))
		err := w.segment(ctx, key, extent{group[0].number, last, len(data)}, data)
		group, room = group[:0], segmentSize
		return err
	}
	for _, e := range entries {
		if e.Number <= last {
			continue
		}
		p := pack(e)
		n, err := w.payloads(ctx, key, p)
		if err != nil {
			return 0, 0, err
		}
		size += n
		group, last = append(group, p), e.Number
		if room -= p.data.inline() + p.payload.inline() + 8; room <= 0 {
			if err := flush(); err != nil {
				return 0, 0, err
			}
		}
	}
	err = flush()
	return size, last, err
}

// extent is which entries a segment has, and how many bytes they are when not compressed.
type extent struct {
	first, last uint64
	size        int
}

// segment writes a segment. Whether it is small is judged by the work of reading it.
func (w *writer) segment(ctx context.Context, session int64, of extent, data []byte) error {
	_, err := w.db.exec(ctx, "INSERT INTO segment (session, first, last, small, size, data) VALUES (?, ?, ?, ?, ?, ?)",
		session, of.first, of.last, of.size < segmentSize/2, of.size, data)
	return err
}

// payloads writes what an entry has beside the segment, if the session does not have it yet.
func (w *writer) payloads(ctx context.Context, key int64, e packedEntry) (size int64, err error) {
	for _, p := range []entryPart{e.data, e.payload} {
		if p.hash == nil {
			continue
		}
		n, err := w.db.exec(ctx, "INSERT OR IGNORE INTO payload (session, hash, data) VALUES (?, ?, ?)", key, p.hash, p.bytes)
		if err != nil {
			return 0, err
		}
		size += n * int64(len(p.bytes))
	}
	return size, nil
}
