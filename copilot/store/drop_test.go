package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/server/portaltest"
)

func TestDrop(t *testing.T) {
	cases := map[string]struct {
		spans []store.Span
		want  []uint64
	}{
		"of nothing":                 {nil, []uint64{1, 2, 3, 5, 6, 7, 8, 9}},
		"of one entry":               {[]store.Span{{2, 2}}, []uint64{1, 3, 5, 6, 7, 8, 9}},
		"of numbers without entries": {[]store.Span{{4, 4}, {0, 0}}, []uint64{1, 2, 3, 5, 6, 7, 8, 9}},
		"across a hole":              {[]store.Span{{3, 5}}, []uint64{1, 2, 6, 7, 8, 9}},
		"of a whole segment":         {[]store.Span{{4, 6}}, []uint64{1, 2, 3, 7, 8, 9}},
		"across segments":            {[]store.Span{{2, 7}}, []uint64{1, 8, 9}},
		"of spans that overlap":      {[]store.Span{{6, 7}, {2, 3}, {3, 6}, {2, 2}}, []uint64{1, 8, 9}},
		"of a reversed span":         {[]store.Span{{7, 2}}, []uint64{1, 2, 3, 5, 6, 7, 8, 9}},
		"leaves the last entry":      {[]store.Span{{0, 1<<64 - 1}}, []uint64{9}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			s := open(t, directory, func(o *store.Options) { o.Delay = time.Hour }) // the drop waits for entry 10
			l := create(t, s, "a")
			for _, n := range []uint64{1, 2, 3, 5, 6, 7, 8, 9} {
				require.NoError(t, l.Append(entry(n)))
				if n%3 == 0 {
					require.NoError(t, s.Flush(t.Context()))
				}
			}
			before, err := s.Session(t.Context(), "a")
			require.NoError(t, err)
			require.NoError(t, l.Drop(c.spans...))
			require.NoError(t, l.Append(entry(10)))
			require.NoError(t, s.Tidy(t.Context()))
			var numbers []uint64
			for _, e := range all(t, s, "a") {
				require.Equal(t, entry(e.Number), e)
				numbers = append(numbers, e.Number)
			}
			require.Equal(t, append(c.want, 10), numbers)
			head, err := s.Session(t.Context(), "a")
			require.NoError(t, err)
			require.EqualValues(t, 10, head.Last)
			require.GreaterOrEqual(t, head.Changed, before.Changed)
			if len(c.want) < 8 {
				require.Equal(t, 1, count(t, directory, "SELECT count(*) FROM segment"), "segments that became small are merged")
			}
		})
	}
}

func TestUnreferencedPayloadsAreDeleted(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	payload := func(n int) []byte { return bytes.Repeat([]byte{byte(n), byte(n >> 8)}, 4096) }
	number := uint64(0)
	for n := range 300 { // every third entry shares its payload with others
		number++
		require.NoError(t, l.Append(store.Entry{Number: number, Data: payload(n), Payload: payload(n / 3 * 3)}))
	}
	require.NoError(t, s.Flush(t.Context()))
	require.Equal(t, 300, count(t, directory, "SELECT count(*) FROM payload"))
	require.NoError(t, l.Drop(store.Span{1, 149}, store.Span{151, 298}))
	require.NoError(t, l.Append(store.Entry{Number: 301, Payload: payload(7)})) // a payload that otherwise only dropped entries had
	require.NoError(t, s.Tidy(t.Context()))
	entries := all(t, s, "a")
	require.Len(t, entries, 4)
	require.Equal(t, payload(7), entries[3].Payload)
	require.Equal(t, 6, count(t, directory, "SELECT count(*) FROM payload")) // two of 150, three of 299 and 300, one of 301
}

func TestDropDoesNotApplyToAnotherFile(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	change(t, directory, "CREATE TRIGGER trouble BEFORE DELETE ON segment BEGIN SELECT raise(ABORT, 'no'); END")
	require.NoError(t, l.Drop(store.Span{1, 5}))
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Try(t.Context()))
	require.NoError(t, os.RemoveAll(directory))
	other := open(t, directory)
	fill(t, other, create(t, other, "b"), 1, 10) // it gets the key that the other session had
	require.NoError(t, s.Tidy(t.Context()))
	same(t, all(t, s, "b"), 1, 10)
}

func TestFailedDropIsRetried(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	l := create(t, s, "a")
	fill(t, s, l, 1, 10)
	change(t, directory, "CREATE TRIGGER trouble BEFORE DELETE ON segment BEGIN SELECT raise(ABORT, 'no'); END")
	require.NoError(t, l.Drop(store.Span{1, 5}))
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Try(t.Context()))
	same(t, all(t, s, "a"), 1, 10)
	change(t, directory, "DROP TRIGGER trouble")
	require.NoError(t, s.Tidy(t.Context()))
	same(t, all(t, s, "a"), 6, 10)

	change(t, directory, "CREATE TRIGGER trouble BEFORE DELETE ON segment BEGIN SELECT raise(ABORT, 'no'); END")
	require.NoError(t, l.Drop(store.Span{1, 7}))
	require.NoError(t, s.Tidy(t.Context()), "and given up in the end")
	same(t, all(t, s, "a"), 6, 10)
	fill(t, s, l, 11, 12)
}

func TestThousandsOfSpansAreDroppedInShortSteps(t *testing.T) {
	s := open(t, t.TempDir())
	l := create(t, s, "a")
	var spans []store.Span
	const last = 10_000 // more than 40 steps
	for n := uint64(1); n <= last; n++ {
		require.NoError(t, l.Append(entry(n)))
		if n%5 == 0 {
			spans = append(spans, store.Span{n - 4, n - 1})
		}
	}
	require.NoError(t, s.Flush(t.Context()))
	rand.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
	require.NoError(t, l.Drop(spans...))
	require.NoError(t, s.Tidy(t.Context()))
	entries := all(t, s, "a")
	require.Len(t, entries, last/5)
	for i, e := range entries {
		require.EqualValues(t, 5*(i+1), e.Number)
	}
}

// record is a model of a session's record: the entries that must exist and those that may.
type record struct {
	numbers map[uint64]bool // false: dropped, though the drop may have been lost
	last    uint64
	forgot  bool // drops may have been lost, so payloads may be left
}

// sized returns an entry determined by its number; sizes vary and payloads repeat.
func sized(n uint64) store.Entry {
	e := store.Entry{Number: n, Data: bytes.Repeat(fmt.Appendf(nil, "%d ", n), int(n%40)), Payload: nil}
	if n%11 == 0 {
		e.Payload = bytes.Repeat([]byte{byte(n % 7)}, 5000)
	}
	if n%13 == 0 {
		e.Data = bytes.Repeat([]byte{byte(n % 5)}, 4096)
	}
	return e
}

func (r *record) add(t *testing.T, l *store.Lease, count uint64) {
	t.Helper()
	for range count {
		r.last += 1 + r.last%3
		require.NoError(t, l.Append(sized(r.last)))
		r.numbers[r.last] = true
	}
}

func (r *record) drop(t *testing.T, l *store.Lease, rnd *rand.Rand) {
	t.Helper()
	var spans []store.Span
	for range rnd.IntN(20) {
		first := rnd.Uint64N(r.last + 2)
		spans = append(spans, store.Span{first, first + rnd.Uint64N(30)})
	}
	require.NoError(t, l.Drop(spans...))
	for n := range r.numbers {
		for _, s := range spans {
			if s.First <= n && n <= s.Last && n < r.last {
				r.numbers[n] = false
			}
		}
	}
}

// check compares the model with the stored record, which decides which drops were lost.
func (r *record) check(t *testing.T, s *store.Store, directory string, tidy bool) {
	t.Helper()
	found, before := map[uint64]bool{}, uint64(0)
	for _, e := range all(t, s, "a") {
		require.Greater(t, e.Number, before)
		before = e.Number
		must, known := r.numbers[e.Number]
		require.True(t, known)
		require.True(t, must || !tidy, "%d was dropped", e.Number)
		alike(t, e)
		found[e.Number] = true
	}
	for n, must := range r.numbers {
		require.True(t, found[n] || !must, "%d is missing", n)
	}
	r.numbers = found
	head, err := s.Session(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, r.last, head.Last)
	require.Equal(t, r.last, before)
	if tidy && !r.forgot {
		require.Equal(t, payloads(found), count(t, directory, "SELECT count(*) FROM payload"))
	}
}

func alike(tb assert.TestingT, e store.Entry) {
	want := sized(e.Number)
	assert.True(tb, bytes.Equal(want.Data, e.Data) && bytes.Equal(want.Payload, e.Payload), "entry %d differs", e.Number)
}

// payloads counts the payloads stored beside the segments.
func payloads(numbers map[uint64]bool) int {
	different := map[string]bool{}
	for n := range numbers {
		e := sized(n)
		for _, b := range [][]byte{e.Data, e.Payload} {
			if len(b) >= 4096 {
				different[string(b)] = true
			}
		}
	}
	return len(different)
}

func FuzzRecordMatchesModel(f *testing.F) {
	for seed := range uint64(portaltest.Repeat(4, 8)) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		directory := t.TempDir()
		s := open(t, directory)
		l := create(t, s, "a")
		r := &record{numbers: map[uint64]bool{}}
		r.add(t, l, 1)
		require.NoError(t, s.Flush(t.Context()))
		defer watch(t, directory)()
		for range 40 {
			switch rnd.IntN(10) {
			case 0, 1, 2, 3:
				r.add(t, l, rnd.Uint64N(200))
			case 4:
				require.NoError(t, s.Flush(t.Context()))
			case 5:
				require.NoError(t, l.Merge())
			case 6, 7:
				r.drop(t, l, rnd)
			case 8:
				require.NoError(t, s.Tidy(t.Context()))
				r.check(t, s, directory, true)
			case 9:
				s, l = again(t, s, directory)
				r.forgot = true
				r.check(t, s, directory, false)
			}
		}
		require.NoError(t, s.Tidy(t.Context()))
		r.check(t, s, directory, true)
	})
}

// again closes a store and reopens it.
func again(t *testing.T, s *store.Store, directory string) (*store.Store, *store.Lease) {
	t.Helper()
	require.NoError(t, s.Close())
	s = open(t, directory)
	l, err := s.Acquire(t.Context(), "a")
	require.NoError(t, err)
	return s, l
}

// watch keeps reading the record as another process would, until stop is called.
func watch(t *testing.T, directory string) (stop func()) {
	t.Helper()
	s := open(t, directory)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for reading(end) {
			head, err := s.Session(t.Context(), "a")
			assert.NoError(t, err)
			last := uint64(0)
			for more := true; more; {
				page, err := s.Read(t.Context(), "a", last, 50)
				assert.NoError(t, err)
				for _, e := range page {
					assert.Greater(t, e.Number, last)
					alike(t, e)
					last = e.Number
				}
				more = len(page) > 0
			}
			assert.GreaterOrEqual(t, last, head.Last)
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// reading pauses, because a reader without pauses would take the processor from the writer.
func reading(end chan struct{}) bool {
	select {
	case <-end:
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}
