package journal_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

// tail parses stored entries: like script, but each word begins with its number, and a ~ at its end flags the entry.
func tail(t *testing.T, words string) []journal.Entry[event] {
	t.Helper()
	var entries []journal.Entry[event]
	for _, word := range strings.Fields(words) {
		number, rest, _ := strings.Cut(word, ":")
		n, err := strconv.ParseUint(number, 10, 64)
		require.NoError(t, err)
		rest, flagged := strings.CutSuffix(rest, "~")
		entries = append(entries, journal.Entry[event]{N: n, Value: script(t, rest)[0], Superseded: flagged})
	}
	return entries
}

func TestRestore(t *testing.T) {
	tests := []struct {
		name   string
		after  uint64
		tail   string
		budget int
		then   string
		trim   uint64
		from   uint64
		want   string
	}{
		{name: "an empty record begins at 1", then: ". .", want: "1 2"},
		{name: "numbers continue", tail: "1:. 2:.", then: ".", want: "1 2 3"},
		{name: "numbers continue though nothing is loaded", after: 7, then: ".", from: 7, want: "8"},
		{name: "entries that are not loaded are a gap", after: 7, then: ".", want: "gap after 0 until 8"},
		{name: "entries that are not loaded are a gap even without others", after: 7, want: "gap after 0 until 8"},
		{name: "a reader that has the entries not loaded waits", after: 7, from: 7, want: "nothing yet"},
		{name: "before the tail is a gap", after: 5, tail: "6:. 8:.", from: 4, want: "gap after 4 until 6"},
		{name: "a hole at the beginning is not a gap", after: 5, tail: "8:.", from: 5, want: "8"},
		{name: "holes stay", tail: "2:. 900:.", then: ".", want: "2 900 901"},
		{name: "flags stay", tail: "1:a~ 2:a~ 3:A 4:a", want: "1~ 2~ 3 4"},
		{name: "an end in the tail needs no flags", tail: "1:a 2:a 3:A 4:a", want: "1~ 2~ 3 4"},
		{name: "flags need no end", tail: "1:a~ 2:.~ 3:.", then: "A", want: "1~ 2~ 3 4"},
		{name: "an open group can be ended", tail: "1:a 3:b 4:a", then: "A", want: "1~ 3 4~ 5"},
		{name: "flagged entries are evicted first", tail: "1:. 2:a~ 3:.~ 4:A", budget: 3, want: "1 3~ 4"},
		{name: "then those whose end was found", tail: "1:. 2:a 3:.~ 4:A", budget: 2, want: "1 4"},
		{name: "then the oldest", tail: "1:. 2:a~ 3:.~ 4:A", budget: 1, want: "gap after 0 until 4"},
		{name: "flagged entries are trimmed", tail: "1:. 2:a~ 3:.~ 4:A", trim: 2, want: "1 3~ 4"},
		{name: "the newest stays", tail: "1:. 2:.9", budget: 4, from: 1, want: "2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := journal.Options[event]{Budget: tt.budget, Cost: costOf, Group: groupOf}
			j, err := journal.Restore(o, tt.after, tail(t, tt.tail))
			require.NoError(t, err)
			record(t, j, tt.then)
			j.Trim(tt.trim)
			assert.Equal(t, tt.want, show(j, tt.from, 0))
		})
	}
}

func TestRestoreRefusesNumbersThatDoNotIncrease(t *testing.T) {
	for after, words := range map[uint64]string{0: "0:.", 1: "2:. 2:.", 2: "4:. 3:.", 3: "3:."} {
		_, err := journal.Restore(journal.Options[event]{}, after, tail(t, words))
		require.ErrorContains(t, err, "journal: stored entry", words)
	}
}

func TestRestoredEntriesAreNotPinned(t *testing.T) {
	o := journal.Options[event]{Budget: 2, Cost: costOf, Pinned: true}
	j, err := journal.Restore(o, 0, tail(t, "1:. 2:. 3:."))
	require.NoError(t, err)
	assert.Equal(t, "2 3", show(j, 1, 0))
	record(t, j, ". . .")
	assert.Equal(t, "4 5 6", show(j, 3, 0), "but new entries are")
	assert.Equal(t, 1, j.Excess())
}
