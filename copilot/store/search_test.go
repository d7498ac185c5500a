package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

func TestASearch(t *testing.T) {
	s := open(t, t.TempDir())
	l := create(t, s, "a")
	for n, body := range []string{
		"the quick brown fox", "Ein schöner Tag", "NOT a AND b", "quick \x00 silver", "bad \xff bytes", `say "cheese" or else`,
		"the fox is quick", strings.Repeat("filling ", 1000) + "needle " + strings.Repeat("filling ", 1000),
	} {
		require.NoError(t, l.Index(store.Text{Number: uint64(n + 1), Kind: "prompt", Body: body}))
		require.NoError(t, l.Index(store.Text{Number: uint64(n + 1), Kind: "prompt", Body: "the same once more"}))
	}
	require.NoError(t, s.Flush(t.Context()))
	cases := map[string]struct {
		words string
		want  []uint64
	}{
		"finds the newest first":                    {"quick", []uint64{7, 4, 1}},
		"wants all words, in any order":             {"fox quick", []uint64{7, 1}},
		"knows no letter case":                      {"QUICK Brown", []uint64{1}},
		"knows no accents":                          {"schoner", []uint64{2}},
		"takes operators as words":                  {"NOT AND b", []uint64{3}},
		"finds nothing without words":               {`" ' ( ) * ^ : - + {} `, nil},
		"finds nothing in nothing":                  {"", nil},
		"takes quotes as spaces":                    {`"cheese`, []uint64{6}},
		"takes column filters as words":             {"body:quick", nil},
		"takes stars as spaces":                     {"qui*", nil},
		"takes NUL as a space":                      {"quick\x00silver", []uint64{4}},
		"takes bytes that are no text as spaces":    {"\xffbytes\xfe", []uint64{5}},
		"finds what stands behind bad bytes":        {"bad bytes", []uint64{5}},
		"takes NEAR as a word":                      {"NEAR(quick fox, 2)", nil},
		"survives very many words":                  {strings.Repeat("quick ", 10_000), []uint64{7, 4, 1}},
		"survives a very long word":                 {strings.Repeat("q", 100_000), nil},
		"finds the one text of its number and kind": {"once more", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := s.Search(t.Context(), c.words, 10)
			require.NoError(t, err)
			var numbers []uint64
			for _, f := range found {
				require.Equal(t, "a", f.Session)
				require.Equal(t, "prompt", f.Kind)
				numbers = append(numbers, f.Number)
			}
			require.Equal(t, c.want, numbers)
		})
	}
	found, err := s.Search(t.Context(), "needle", 1)
	require.NoError(t, err)
	require.Contains(t, found[0].Snippet, "needle")
	require.Less(t, len(found[0].Snippet), 400)
	found, err = s.Search(t.Context(), "quick", 2)
	require.NoError(t, err)
	require.Len(t, found, 2)
}

func FuzzSearch(f *testing.F) {
	s := open(f, f.TempDir())
	l, err := s.Create(f.Context(), store.Session{ID: "a"})
	require.NoError(f, err)
	require.NoError(f, l.Index(store.Text{Number: 1, Body: "some words"}))
	require.NoError(f, s.Flush(f.Context()))
	for _, words := range []string{"some", `"`, "a AND", "NEAR(", "\x00", "\xff", "{a b}:c", "-", "٣", "e\u0301", "\U000e0100"} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		_, err := s.Search(t.Context(), words, 1)
		require.NoError(t, err, "%q", store.Match(words))
	})
}
