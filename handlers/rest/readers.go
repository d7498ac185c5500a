package rest

import "time"

// Readers are statistics of the readers whose positions the portal keeps.
type Readers struct {
	Attached int    // readers that called within [attachedFor]
	MaxLag   uint64 // how many events the slowest reader is behind; readers in a call count as up to date
}

// attachedFor is how long a reader counts as attached after its last call. Calls
// take 5 s at most, and the next one follows soon.
const attachedFor = 15 * time.Second

// Readers returns statistics of the attached readers.
func (a *API) Readers() Readers {
	var r Readers
	for p, m := range a.bookmarks.recent(attachedFor) {
		r.Attached++
		after, ok := m.position()
		if !ok {
			continue
		}
		if s, ok := a.options.Host.Loaded(p.session); ok {
			last := s.Record().Last()
			r.MaxLag = max(r.MaxLag, last-min(after, last))
		}
	}
	r.Attached += len(a.jobMarks.recent(attachedFor))
	return r
}

// recent returns the bookmarks used within d.
func (b *bookmarks) recent(d time.Duration) map[bookmarkKey]*bookmark {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := map[bookmarkKey]*bookmark{}
	for p, m := range b.byKey {
		if time.Since(m.used) <= d {
			list[p] = m
		}
	}
	return list
}

// position returns the reader's position; ok is false while a call holds the bookmark.
func (m *bookmark) position() (after uint64, ok bool) {
	select {
	case m.held <- struct{}{}:
		after = m.at.N
		<-m.held
		return after, true
	default:
		return 0, false
	}
}
