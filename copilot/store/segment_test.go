package store_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

func TestInvalidSegmentIsRejected(t *testing.T) {
	for name, segment := range map[string][]byte{
		"is empty":                              {},
		"is of an unknown kind":                 {2, 1, 0, 0},
		"ends within an entry":                  {0, 1, 8, 'a'},
		"ends before the payload":               {0, 1, 2, 'a'},
		"has a number twice":                    {0, 1, 0, 0, 0, 0, 0},
		"has numbers that overflow":             {0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0},
		"has a length without end":              {0, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
		"has a length beyond its end":           {0, 1, 254, 255, 255, 255, 255, 255, 255, 255, 255, 1},
		"has half a hash":                       {0, 1, 1, 'a', 'b'},
		"has a hash with a length":              append([]byte{0, 1, 3}, make([]byte, 40)...),
		"is compressed to nothing":              {1},
		"claims to be larger than the maximum":  {1, 255, 255, 255, 255, 15, 0},
		"claims to be compressed but is not":    {1, 4, 255, 255, 255, 255},
		"is longer than claimed when inflated":  append([]byte{1, 1}, store.Encode(many(100), true)[3:]...),
		"is shorter than claimed when inflated": append([]byte{1, 255, 127}, store.Encode(many(100), true)[3:]...),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.Decode(segment)
			require.Error(t, err)
		})
	}
}

func many(n int) []store.Entry {
	var entries []store.Entry
	for i := range n {
		entries = append(entries, entry(uint64(i+1)))
	}
	return entries
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0, 1, 2, 'a', 0})
	f.Add(store.Encode(many(3), false))
	f.Add(store.Encode(many(100), true))
	f.Add(store.Encode([]store.Entry{{Number: 1, Data: make([]byte, 5000), Payload: []byte("x")}}, false))
	f.Fuzz(func(t *testing.T, segment []byte) {
		entries, err := store.Decode(segment)
		if err != nil {
			return
		}
		last := uint64(0)
		for _, e := range entries {
			require.Greater(t, e.Number, last)
			last = e.Number
		}
	})
}

func FuzzEncode(f *testing.F) {
	f.Add(uint64(1), []byte("a"), []byte("b"), uint64(1<<40), []byte(nil), true)
	f.Fuzz(func(t *testing.T, number uint64, data, payload []byte, more uint64, second []byte, compressed bool) {
		if number == 0 || more == 0 || number+more < number || max(len(data), len(payload), len(second)) >= 4096 {
			return
		}
		entries := []store.Entry{{Number: number, Data: data, Payload: payload}, {Number: number + more, Data: second}}
		got, err := store.Decode(store.Encode(entries, compressed))
		require.NoError(t, err)
		require.Len(t, got, 2)
		for i, e := range entries {
			require.Equal(t, e.Number, got[i].Number)
			require.True(t, bytes.Equal(e.Data, got[i].Data) && bytes.Equal(e.Payload, got[i].Payload))
		}
	})
}
