package bench_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/export"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/store"
)

// archivist is a host on an archive.
type archivist struct {
	store *store.Store
	host  *copilot.Host
}

func (a *archive) inHost(b *testing.B, do func(*testing.B, archivist)) {
	b.Helper()
	s, err := store.Open(b.Context(), store.Options{Directory: a.directory})
	require.NoError(b, err)
	agents := fake.New()
	host := agents.NewHost(copilot.Options{Store: s})
	do(b, archivist{s, host})
	host.Close(context.Background())
	agents.Close()
	require.NoError(b, s.Close())
}

// searches is how often each search is made, and found how many texts it gives.
const (
	searches = 40
	found    = 50
)

// search measures searches in all messages against one for a word that nobody has said.
func (a *archive) search(b *testing.B, h archivist) {
	b.Helper()
	w, slowest := a.words.known, time.Duration(0)
	report.add(fmt.Sprintf("search in %d messages, p50 and the slowest of %d:", a.sessions*runsEach*2, searches), "", "", "")
	for _, q := range []struct{ what, words string }{
		{"a rare word", uniqueWord(name(a.sessions/2)) + " "},
		{"a frequent word", w[1] + " "},
		{"the beginning of a word", w[1000][:3]},
		{"the beginning of many words", w[1][:2]},
		{"several words", w[3] + " " + w[30] + " " + w[100] + " "},
		{"frequent words", w[1] + " " + w[2] + " " + w[3] + " "},
		{"a word and the beginning of one", w[10] + " " + w[1000][:3]},
	} {
		var each, none []time.Duration
		for range searches {
			each = append(each, h.took(b, q.words, true))
			none = append(none, h.took(b, "nobodysaidthis ", false))
		}
		p50 := median(each)
		report.add("  "+q.what, ms(p50)+", "+ms(quantile(each, 1)), "100 ms", ms(median(none))+": a word that nobody said")
		slowest = max(slowest, quantile(each, 1))
	}
	b.ReportMetric(slowest.Seconds()*1e3, "ms-slowest-search")
}

func (h archivist) took(b *testing.B, words string, finds bool) time.Duration {
	b.Helper()
	begin := time.Now()
	list, err := h.host.Search(b.Context(), words, found)
	took := time.Since(begin)
	require.NoError(b, err)
	require.Equal(b, finds, len(list) > 0, words)
	return took
}

// page is how many entries a reader of the past asks for.
const page = 500

// read measures reading the long session, of which nothing is in memory, against
// the store's part of it.
func (a *archive) read(b *testing.B, h archivist) {
	b.Helper()
	s, err := h.host.Session(b.Context(), longID)
	require.NoError(b, err)
	var first, firstRaw, all, allRaw []time.Duration
	for range pairs {
		first = append(first, spent(func() {
			entries, err := s.Record().Next(b.Context(), 0, page)
			require.NoError(b, err)
			require.Len(b, entries, page)
		}))
		firstRaw = append(firstRaw, spent(func() { h.raw(b, page, page) }))
		all = append(all, spent(func() {
			var out counter
			require.NoError(b, export.JSONL(&out, s.Info(), follow.Snapshot(b.Context(), s.Record())))
			require.Greater(b, out.lines, longRuns*8)
		}))
		allRaw = append(allRaw, spent(func() { h.raw(b, longRuns*runEvents, 4096) }))
	}
	report.add(fmt.Sprintf("first %d of %d events of a session at rest", page, longRuns*runEvents), ms(median(first)), "",
		ms(median(firstRaw))+": from the store, not decoded")
	report.add("  all of it as lines of JSON", ms(median(all)), "", ms(median(allRaw)))
	report.add(fmt.Sprintf("first %d of a text of %d pieces", page, textPieces), ms(median(h.pieces(b))), "", "")
	b.ReportMetric(median(first).Seconds()*1e3, "ms-page")
	b.ReportMetric(median(all).Seconds()*1e3, "ms-export")
}

// pieces reads the first page of a text that goes on for long.
func (h archivist) pieces(b *testing.B) (each []time.Duration) {
	b.Helper()
	s, err := h.host.Session(b.Context(), textID)
	require.NoError(b, err)
	for range pairs {
		each = append(each, spent(func() {
			entries, err := s.Record().Next(b.Context(), 0, page)
			require.NoError(b, err)
			require.True(b, entries[1].Superseded)
		}))
	}
	return each
}

// raw reads the first entries of the long session as the store has them.
func (h archivist) raw(b *testing.B, n, limit int) {
	b.Helper()
	for read := 0; read < n; {
		entries, err := h.store.Read(b.Context(), longID, uint64(read), limit)
		require.NoError(b, err)
		require.NotEmpty(b, entries)
		read += len(entries)
	}
}

func spent(do func()) time.Duration {
	begin := time.Now()
	do()
	return time.Since(begin)
}

// counter takes what is written and counts its lines.
type counter struct{ lines int }

var _ io.Writer = (*counter)(nil)

// Write implements [io.Writer].
func (c *counter) Write(b []byte) (int, error) {
	c.lines += strings.Count(string(b), "\n")
	return len(b), nil
}
