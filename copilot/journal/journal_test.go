package journal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

func TestNext(t *testing.T) {
	tests := []struct {
		name   string
		record string
		budget int
		trim   uint64
		after  uint64
		limit  int
		want   string
	}{
		{name: "an empty record has nothing yet", want: "nothing yet"},
		{name: "numbers count from 1", record: ". . .", want: "1 2 3"},
		{name: "a reader gets the entries after its number", record: ". . . .", after: 2, want: "3 4"},
		{name: "a limit bounds one read", record: ". . . .", after: 1, limit: 2, want: "2 3"},
		{name: "a negative limit is the default limit", record: ". .", limit: -1, want: "1 2"},
		{name: "a reader that has everything gets nothing yet", record: ". .", after: 2, want: "nothing yet"},
		{name: "a reader beyond the newest gets nothing yet", record: ". .", after: 9, want: "nothing yet"},
		{name: "the largest number is valid", record: ". .", after: 1<<64 - 1, want: "nothing yet"},

		{name: "an end supersedes its group so far", record: "a a A", want: "1~ 2~ 3"},
		{name: "an end supersedes nothing of other groups", record: "a b . A", want: "1~ 2 3 4"},
		{name: "a key may be used again", record: "a A a", want: "1~ 2 3"},
		{name: "an end supersedes no end", record: "a A a A A", want: "1~ 2 3~ 4 5"},
		{name: "an end without a beginning is an entry", record: "A", want: "1"},

		{name: "a sufficient budget drops nothing", record: "a a A .", budget: 4, want: "1~ 2~ 3 4"},
		{name: "superseded entries are evicted first, without a gap", record: ". a a A . ", budget: 3, want: "1 4 5"},
		{name: "no more entries are dropped than necessary", record: ". a a A .", budget: 4, want: "1 3~ 4 5"},
		{name: "an end can evict its own group", record: ". a a A", budget: 3, want: "1 3~ 4"},
		{name: "the group that ended first is evicted first", record: "a b B A .", budget: 4, want: "1~ 3 4 5"},
		{name: "the rest of a group is evicted before the next group", record: "a b b B A . .", budget: 5, want: "1~ 4 5 6 7"},
		{name: "other entries are evicted when none is superseded", record: ". a A . .", budget: 3, want: "gap after 0 until 3"},
		{name: "an evicted entry that was already read is not a gap", record: ". . .", budget: 2, after: 1, want: "2 3"},
		{name: "a reader continues after a gap", record: ". a A . .", budget: 3, after: 2, want: "3 4 5"},
		{name: "entries of an open group are evicted like others", record: "a a a", budget: 2, want: "gap after 0 until 2"},
		{name: "a gap stays one when a later end supersedes it", record: "a a a A", budget: 2, want: "gap after 0 until 3"},
		{name: "an end supersedes the rest of its group after an eviction", record: "a a a A", budget: 2, after: 1, want: "3~ 4"},
		{name: "a group may start again after its eviction", record: "a . a A0", budget: 2, after: 1, want: "2 3~ 4"},
		{name: "holes between the gap and the rest belong to the gap", record: ". . a A .2 .", budget: 4, want: "gap after 0 until 4"},
		{name: "the newest entry stays even if it exceeds the budget", record: ". a A .9", budget: 5, want: "gap after 0 until 4"},
		{name: "an entry above the budget is evicted by the next one", record: ".9 .", budget: 5, after: 1, want: "2"},
		{name: "entries without cost are kept", record: ".0 .0 .5", budget: 5, want: "1 2 3"},
		{name: "entries without cost are evicted if they are older than an evicted one", record: ".0 . .", budget: 1, after: 2, want: "3"},
		{name: "a negative cost counts as zero", record: ".-9 . .", budget: 1, want: "gap after 0 until 3"},
		{name: "a negative budget is unbounded", record: ". . .", budget: -1, want: "1 2 3"},

		{name: "a trim drops superseded entries only", record: ". a b A .", trim: 9, want: "1 3 4 5"},
		{name: "a trim drops nothing above its number", record: "a a a A .", trim: 2, want: "3~ 4 5"},
		{name: "a trim applies to all groups", record: "a b b A B", trim: 2, want: "3~ 4 5"},
		{name: "a trim skips a group that begins above its number", record: "b a A B", trim: 1, want: "2~ 3 4"},
		{name: "a trim drops hundreds of entries between others", record: ". 900*a A .", trim: 9999, want: "1 902 903"},
		{name: "an eviction drops hundreds of entries between others", record: ". 900*a A .900", budget: 902, want: "1 902 903"},
		{name: "hundreds are dropped at the end of the kept entries", record: "300*. 700*a A", trim: 9999, after: 299, want: "300 1001"},
		{name: "a reader may begin inside a hole", record: ". 900*a A .", trim: 9999, after: 500, want: "902 903"},
		{name: "the record may shrink to its newest entry", record: "900*. .3", budget: 3, after: 900, want: "901"},
		{name: "trimmed entries no longer cost anything", record: "a A . .", budget: 4, trim: 9, want: "2 3 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := newJournal(tt.budget)
			record(t, j, tt.record)
			j.Trim(tt.trim)
			assert.Equal(t, tt.want, show(j, tt.after, tt.limit))
		})
	}
}

func TestNextReturns256EntriesByDefault(t *testing.T) {
	j := newJournal(0)
	appendPlain(t, j, 1000)
	entries, err := j.Next(t.Context(), 0, 0)
	require.NoError(t, err)
	assert.Len(t, entries, 256)
}

func TestNextReturnsEveryValueUnderItsNumber(t *testing.T) {
	j := newJournal(0)
	appendPlain(t, j, 1000)
	entries, err := j.Next(t.Context(), 0, 2000)
	require.NoError(t, err)
	require.Len(t, entries, 1000)
	for i, e := range entries {
		require.Equal(t, journal.Entry[event]{N: uint64(i) + 1, Value: event{id: i + 1, cost: 1}}, e)
	}
}

func TestNextReturnsEntriesAsOfTheRead(t *testing.T) {
	j := newJournal(0)
	record(t, j, "a")
	before, err := j.Next(t.Context(), 0, 0)
	require.NoError(t, err)
	record(t, j, "A")
	assert.Equal(t, "1", outcome(before, nil), "entries that were read do not change")
	assert.Equal(t, "1~ 2", show(j, 0, 0))
}

func TestNextAllocatesOnlyItsResult(t *testing.T) {
	tests := []struct {
		name  string
		after uint64
		limit int
	}{
		{name: "the newest entry", after: 1801},
		{name: "the last few", after: 1700},
		{name: "a whole page", after: 3},
		{name: "a page after many holes", after: 0, limit: 100},
	}
	j := newJournal(0)
	record(t, j, ". 900*a A 900*.")
	j.Trim(j.Last())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			allocations := testing.AllocsPerRun(100, func() { _, _ = j.Next(t.Context(), tt.after, tt.limit) })
			assert.InDelta(t, 1, allocations, 0, "only the slice")
		})
	}
}

func TestZeroOptionsWork(t *testing.T) {
	j := journal.New(journal.Options[event]{Budget: 2})
	record(t, j, "a9 a9 A9")
	assert.Equal(t, "gap after 0 until 2", show(j, 0, 0), "each entry costs 1 and stands alone")
}

func TestOptionsMayUseTheJournal(t *testing.T) {
	var j *journal.Journal[event]
	j = journal.New(journal.Options[event]{Cost: func(event) int { return int(j.Last()) }})
	record(t, j, ". .")
	assert.Equal(t, "1 2", show(j, 0, 0))
}

func TestClose(t *testing.T) {
	j := newJournal(2)
	record(t, j, ". . .")
	j.Close()
	j.Close()

	n, err := j.Append(event{})
	require.ErrorIs(t, err, journal.ErrClosed)
	assert.Zero(t, n)
	assert.Equal(t, uint64(3), j.Last())
	assert.Equal(t, "gap after 0 until 2", show(j, 0, 0), "a closed record does not hide a gap")
	assert.Equal(t, "2 3", show(j, 1, 0), "the remaining entries come before the end")
	assert.Equal(t, "EOF", show(j, 3, 0))
	assert.Equal(t, "EOF", show(j, 9, 0))
}

func TestReopen(t *testing.T) {
	j := newJournal(0)
	j.Reopen()
	record(t, j, "a")
	j.Close()
	j.Reopen()
	assert.Equal(t, "nothing yet", show(j, 1, 0))
	record(t, j, "A")
	assert.Equal(t, "1~ 2", show(j, 0, 0), "numbers and groups continue")
}

func TestLastIncludesEvictedEntries(t *testing.T) {
	j := newJournal(1)
	assert.Zero(t, j.Last())
	record(t, j, ". . .")
	assert.Equal(t, uint64(3), j.Last())
}

func TestGapErrorNamesFirstEntry(t *testing.T) {
	j := newJournal(1)
	record(t, j, ". . .")
	_, err := j.Next(t.Context(), 1, 0)
	require.EqualError(t, err, "journal: entries after 1 are gone, the record now begins at 3")
}

func appendPlain(t *testing.T, j *journal.Journal[event], n int) {
	t.Helper()
	for i := range n {
		_, err := j.Append(event{id: i + 1, cost: 1})
		require.NoError(t, err)
	}
}
