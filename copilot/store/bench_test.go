package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

var delta = bytes.Repeat([]byte("0123456789abcdef"), 12)

// BenchmarkAppend measures Append while the writer writes.
func BenchmarkAppend(b *testing.B) {
	s := open(b, b.TempDir(), func(o *store.Options) { o.Delay = 20 * time.Millisecond })
	l := create(b, s, "a")
	number, refused := uint64(0), 0
	b.ReportAllocs()
	for b.Loop() {
		number++
		for l.Append(store.Entry{Number: number, Data: delta}) != nil {
			b.StopTimer()
			refused++
			require.NoError(b, s.Flush(b.Context()))
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(refused), "waits")
}

// BenchmarkGroup measures writing durable groups of entries of one session.
func BenchmarkGroup(b *testing.B) {
	for _, sessions := range []int{1, 10} {
		for _, size := range []int{1, 100} {
			b.Run(fmt.Sprintf("sessions=%d/entries=%d", sessions, size), func(b *testing.B) {
				s := open(b, b.TempDir())
				var leases []*store.Lease
				for i := range sessions {
					leases = append(leases, create(b, s, fmt.Sprint("s", i)))
				}
				for number := uint64(1); b.Loop(); number += uint64(size) {
					for _, l := range leases {
						for i := range size {
							require.NoError(b, l.Append(store.Entry{Number: number + uint64(i), Data: delta}))
						}
					}
					require.NoError(b, s.Flush(b.Context()))
				}
			})
		}
	}
}

// rows fills the file of a new directory from outside, in one transaction.
func rows(b *testing.B, statements ...string) (directory string) {
	b.Helper()
	directory = b.TempDir()
	require.NoError(b, open(b, directory).Close())
	db, err := sql.Open("sqlite", file(directory)+"?_pragma=synchronous(off)")
	require.NoError(b, err)
	defer db.Close()
	tx, err := db.Begin()
	require.NoError(b, err)
	for _, statement := range statements {
		_, err := tx.Exec(statement)
		require.NoError(b, err)
	}
	require.NoError(b, tx.Commit())
	return directory
}

// BenchmarkOpen measures the time until the first page of the list is read, with 10,000 sessions and 5,000,000 entries
// in segments of 100.
func BenchmarkOpen(b *testing.B) {
	directory := rows(b, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		INSERT INTO session SELECT i, 'session-' || i, 'rest', 'title ' || i, 'model', '/project', i, i * 7 % 10000, 1, 1, 500, 7500, NULL FROM n`,
		`INSERT INTO meta SELECT key, zeroblob(500) FROM session`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4)
		INSERT INTO segment SELECT key, i * 100 + 1, i * 100 + 100, 0, 19200, zeroblob(1500) FROM n, session`)
	for b.Loop() {
		s := open(b, directory)
		page, err := s.List(b.Context(), store.Cursor{}, 50)
		require.NoError(b, err)
		require.Len(b, page, 50)
		b.StopTimer()
		require.NoError(b, s.Close())
		b.StartTimer()
	}
	b.ReportMetric(resident(b), "MB")
	s := open(b, directory)
	started, pages := time.Now(), 0
	for after := (store.Cursor{}); ; pages++ {
		page, err := s.List(b.Context(), after, 50)
		require.NoError(b, err)
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Cursor()
	}
	require.Equal(b, 200, pages)
	b.ReportMetric(float64(time.Since(started).Microseconds())/float64(pages), "us/page")
}

// resident returns the memory of this process in MiB. SQLite's memory is not on Go's heap.
func resident(b *testing.B) float64 {
	b.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	require.NoError(b, err)
	var total, pages float64
	_, err = fmt.Sscan(string(statm), &total, &pages)
	require.NoError(b, err)
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

// BenchmarkOrphans measures finding the 100 sessions of a dead process among 10,000, and finding none.
func BenchmarkOrphans(b *testing.B) {
	for _, orphans := range []int{0, 100, 10_000} {
		b.Run(fmt.Sprint("orphans=", orphans), func(b *testing.B) {
			directory := rows(b, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
				INSERT INTO session SELECT i, 'session-' || i, 'rest', 'title ' || i, 'model', '/project', i, i * 7 %% 10000, 1, 1, 500, 7500,
				iif(i <= %d, 7, NULL) FROM n`, orphans), "INSERT INTO owner VALUES (7, 4000000, '1', 'elsewhere', 0)")
			s := open(b, directory)
			for b.Loop() {
				ids, err := s.Orphans(b.Context())
				require.NoError(b, err)
				require.Len(b, ids, orphans)
			}
		})
	}
}

// BenchmarkSearch measures searches in 200,000 messages.
func BenchmarkSearch(b *testing.B) {
	directory := rows(b, `INSERT INTO session VALUES (1, 'a', '', '', '', '', 0, 0, 1, 0, 0, 0, NULL)`,
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
		INSERT INTO text SELECT i, 1, i, 'prompt', 'please change the function number' || (i % 5000) || ' in package' || (i % 70)
			|| ' so that the tests of group' || (i % 7) || ' pass again and say why it failed, word' || i FROM n`)
	s := open(b, directory)
	for name, words := range map[string]string{
		"one text": "word777", "every text": "please", "every text, two words": "please tests", "no text": "nothing",
		"two words rarely together": "number4999 package3", "two words never together": "group1 word777",
		"prefix of a frequent word": "pleas", "prefix of many words": "word", "prefix of very many words": "wo",
		"frequent word, prefix of many": "please wor", "prefix of some words": "packag",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := s.Search(b.Context(), words, 20)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkRead measures reading a merged record of 50,000 entries, and one entry in its middle.
func BenchmarkRead(b *testing.B) {
	s := open(b, b.TempDir())
	l := create(b, s, "a")
	for n := uint64(1); n <= 50_000; n++ {
		require.NoError(b, l.Append(store.Entry{Number: n, Data: delta}))
	}
	require.NoError(b, s.Flush(b.Context()))
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			for after := uint64(0); after < 50_000; {
				page, err := s.Read(b.Context(), "a", after, 1000)
				require.NoError(b, err)
				after = page[len(page)-1].Number
			}
		}
	})
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			_, err := s.Read(b.Context(), "a", 25_000, 1)
			require.NoError(b, err)
		}
	})
}

// BenchmarkSearchLong measures a search for a frequent word in texts of many lengths.
func BenchmarkSearchLong(b *testing.B) {
	for _, size := range []int{8 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint("bytes=", size), func(b *testing.B) {
			s := open(b, b.TempDir())
			l := create(b, s, "a")
			for n := range uint64(20) {
				body := bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog and more words "), size/59)
				require.NoError(b, l.Index(store.Text{Number: n, Body: string(body)}))
			}
			require.NoError(b, s.Flush(b.Context()))
			for b.Loop() {
				_, err := s.Search(b.Context(), "the", 20)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkAppendActivity measures appending one durable line to an activity.
func BenchmarkAppendActivity(b *testing.B) {
	s := open(b, b.TempDir(), func(o *store.Options) { o.Delay = 20 * time.Millisecond })
	a := begin(b, s, "a")
	a.Head = nil
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.AppendActivity(b.Context(), a, delta)
		require.NoError(b, err)
	}
}
