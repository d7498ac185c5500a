package journal_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/journal"
)

func TestParsePosition(t *testing.T) {
	tests := []struct {
		name, text string
		want       journal.Position
		wrong      bool
	}{
		{name: "an epoch and a number", text: "3-120", want: journal.Position{Epoch: 3, N: 120}},
		{name: "before the first entry", text: "0-0"},
		{name: "the greatest", text: "18446744073709551615-18446744073709551615", want: journal.Position{Epoch: 1<<64 - 1, N: 1<<64 - 1}},
		{name: "one too great", text: "0-18446744073709551616", wrong: true},
		{name: "nothing", text: "", wrong: true},
		{name: "a number alone", text: "120", wrong: true},
		{name: "no epoch", text: "-120", wrong: true},
		{name: "no number", text: "3-", wrong: true},
		{name: "one part too many", text: "3-1-2", wrong: true},
		{name: "a sign", text: "3-+1", wrong: true},
		{name: "a leading zero", text: "3-01", wrong: true},
		{name: "a blank", text: "3- 1", wrong: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := journal.ParsePosition(tt.text)
			assert.Equal(t, tt.want, p)
			assert.Equal(t, tt.wrong, err != nil, "%v", err)
		})
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, s := range []string{"3-120", "0-0", "-", "3-01", "18446744073709551615-1", "1-2-3", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := journal.ParsePosition(s)
		if err != nil {
			require.Zero(t, p)
			return
		}
		require.Equal(t, s, p.String(), "there is one way to write a position")
	})
}

func TestAfter(t *testing.T) {
	options := func(load bool) journal.Options[event] {
		o := journal.Options[event]{Epoch: 7, Earlier: []journal.Position{{Epoch: 5, N: 2}, {Epoch: 6, N: 4}}}
		if load {
			o.Load = (&memoryStore{}).load
		}
		return o
	}
	tests := []struct {
		name     string
		position journal.Position
		load     bool
		want     uint64
		first    uint64 // of the gap
	}{
		{name: "a number of this epoch is valid", position: journal.Position{Epoch: 7, N: 6}, want: 6},
		{name: "a number that was not assigned yet is stale", position: journal.Position{Epoch: 7, N: 7}, first: 7},
		{name: "an earlier epoch shares its stored entries", position: journal.Position{Epoch: 5, N: 2}, want: 2},
		{name: "its unstored numbers now denote other entries", position: journal.Position{Epoch: 5, N: 3}, first: 3},
		{name: "each epoch ended elsewhere", position: journal.Position{Epoch: 6, N: 5}, first: 5},
		{name: "an unknown epoch leads to the beginning", position: journal.Position{Epoch: 9, N: 3}, first: 4},
		{name: "which is the first entry if there is a store", position: journal.Position{Epoch: 9, N: 3}, load: true, first: 1},
		{name: "the beginning is the same in every epoch", position: journal.Position{Epoch: 9}, want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &journal.Meter{}
			o := options(tt.load)
			o.Meter = m
			j, err := journal.Restore(o, 3, []journal.Entry[event]{{N: 4}})
			require.NoError(t, err)
			record(t, j, ". .")
			after, err := j.After(tt.position)
			assert.Equal(t, tt.want, after)
			if tt.first == 0 {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, &journal.GapError{After: tt.position.N, First: tt.first, Stale: true}, err)
			assert.Equal(t, uint64(1), m.Readers().Gaps)
		})
	}
}

func TestPositionBelongsToItsJournal(t *testing.T) {
	j := journal.New(journal.Options[event]{Epoch: 7})
	assert.Equal(t, uint64(7), j.Epoch())
	assert.Equal(t, "7-12", j.Position(12).String())
	_, err := j.After(journal.Position{Epoch: 3, N: 12})
	require.EqualError(t, err, "journal: number 12 belongs to another epoch, the record continues at 1")
}
