package journal_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/journal"
)

func TestPinnedEntriesStay(t *testing.T) {
	tests := []struct {
		name   string
		record string
		budget int
		unpin  uint64
		then   string // recorded after Unpin
		trim   uint64
		want   string
		excess int
	}{
		{name: "whatever the budget", record: ". . .", budget: 1, want: "1 2 3", excess: 2},
		{name: "superseded ones, too", record: "a a A", budget: 1, want: "1~ 2~ 3", excess: 2},
		{name: "until they are stored", record: ". . . .", budget: 1, unpin: 2, want: "gap after 0 until 3", excess: 1},
		{name: "as far as the budget goes", record: ". . . .", budget: 3, unpin: 4, want: "gap after 0 until 2"},
		{name: "though they come later", record: ". .", budget: 1, unpin: 2, then: ". .", want: "gap after 0 until 3", excess: 1},
		{name: "a store may be ahead", budget: 1, unpin: 2, then: ". . .", want: "gap after 0 until 3"},
		{name: "superseded ones until their end is stored", record: ". a a A .", budget: 3, unpin: 3, want: "gap after 0 until 2", excess: 1},
		{name: "superseded ones go first, once it is", record: ". a a A .", budget: 3, unpin: 4, want: "1 4 5"},
		{name: "pinned entries of a group do not hide others", record: "b a A B .", budget: 3, unpin: 3, want: "1~ 3 4 5", excess: 1},
		{name: "the newest stays when all entries are stored", record: ". .9", budget: 5, unpin: 9, want: "gap after 0 until 2", excess: 4},
		{name: "a store that is given up pins nothing", record: ". .", budget: 1, unpin: math.MaxUint64, then: ". .", want: "gap after 0 until 4"},
		{name: "a trim drops none of them", record: "a a A", trim: 9, want: "1~ 2~ 3"},
		{name: "a trim drops none whose end is pinned", record: "a a A", unpin: 2, trim: 9, want: "1~ 2~ 3"},
		{name: "a trim drops those whose end is stored", record: "a a A b B", unpin: 3, trim: 9, want: "3 4~ 5"},
		{name: "without a budget there is no excess", record: ". .", want: "1 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := journal.New(journal.Options[event]{Budget: tt.budget, Cost: costOf, Group: groupOf, Pinned: true})
			record(t, j, tt.record)
			j.Unpin(tt.unpin)
			j.Unpin(0)
			record(t, j, tt.then)
			j.Trim(tt.trim)
			assert.Equal(t, tt.want, show(j, 0, 0))
			assert.Equal(t, tt.excess, j.Excess())
		})
	}
}
