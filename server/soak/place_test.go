package soak_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/testclock"
)

func TestLossesAndDuplicatesAreCounted(t *testing.T) {
	killed := &host{kills: []testclock.Clock{testclock.Now()}}
	for name, c := range map[string]struct {
		conns   []string
		repeats bool
		unsaved bool
		want    counts
	}{
		"all of it":                           {conns: []string{"abc", "", "defgh"}},
		"a loss between connections":          {conns: []string{"abc", "efgh"}, want: counts{lost: 1}},
		"a loss at the end":                   {conns: []string{"abc", "defg"}, want: counts{lost: 1}},
		"a loss at the start":                 {conns: []string{"cd", "efgh"}, want: counts{lost: 2}},
		"a loss on a connection":              {conns: []string{"abdefgh"}, want: counts{lost: 6, duplicated: 5}},
		"a duplicate between connections":     {conns: []string{"abc", "cdefgh"}, want: counts{duplicated: 1}},
		"a duplicate on a connection":         {conns: []string{"abbcdefgh"}, want: counts{lost: 6, duplicated: 7}},
		"the wrong order":                     {conns: []string{"abdcefgh"}, want: counts{lost: 6, duplicated: 6}},
		"a documented repetition":             {conns: []string{"abc", "bcdefgh"}, repeats: true, want: counts{repeated: 2}},
		"what was not stored":                 {conns: []string{"abcx", "defgh"}, unsaved: true, want: counts{unsaved: 1}},
		"what was not stored and comes again": {conns: []string{"abc", "bcdefgh"}, unsaved: true, want: counts{unsaved: 2}},
		"what is only in a branch":            {conns: []string{"abcxydefgh"}, repeats: true, unsaved: true, want: counts{unsaved: 2}},
		"what a killed node had announced":    {conns: []string{"abcbcdefgh"}, repeats: true, unsaved: true, want: counts{repeated: 2}},
		"the same at the end":                 {conns: []string{"abcdefghgh"}, repeats: true, unsaved: true, want: counts{repeated: 2}},
		"what is in no record":                {conns: []string{"abcx", "defgh"}, want: counts{duplicated: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var conns [][]piece[byte]
			for _, text := range c.conns {
				conns = append(conns, []piece[byte]{{[]byte(text), killed.kills[0]}})
			}
			unsaved := (&host{}).isUnsaved
			if c.unsaved {
				unsaved = killed.isUnsaved
			}
			var mayRepeat func(testclock.Clock) bool
			if c.repeats {
				mayRepeat = unsaved
			}
			got := place(conns, []byte("abcdefgh"), unsaved, mayRepeat)
			assert.Equal(t, got.lost+got.duplicated > 0, len(got.faults) > 0)
			got.faults = nil
			assert.Equal(t, c.want, got)
		})
	}
}
