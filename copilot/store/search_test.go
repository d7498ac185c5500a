package store_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

func TestSearch(t *testing.T) {
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
		"finds the newest first":                            {"quick", []uint64{7, 4, 1}},
		"requires all words, in any order":                  {"fox quick", []uint64{7, 1}},
		"ignores letter case":                               {"QUICK Brown", []uint64{1}},
		"ignores accents":                                   {"schoner", []uint64{2}},
		"takes operators as words":                          {"NOT AND b", []uint64{3}},
		"finds nothing without words":                       {`" ' ( ) * ^ : - + {} `, nil},
		"finds nothing for an empty query":                  {"", nil},
		"takes quotes as spaces":                            {`"cheese`, []uint64{6}},
		"takes column filters as words":                     {"body:quick", nil},
		"takes stars as spaces":                             {"qui*", nil},
		"takes NUL as a space":                              {"quick\x00silver", []uint64{4}},
		"takes invalid bytes as spaces":                     {"\xffbytes\xfe", []uint64{5}},
		"finds words after invalid bytes":                   {"bad bytes", []uint64{5}},
		"takes NEAR as a word":                              {"NEAR(quick fox, 2)", nil},
		"survives very many words":                          {strings.Repeat("quick ", 10_000), []uint64{7, 4, 1}},
		"survives a very long word":                         {strings.Repeat("q", 100_000), nil},
		"takes the last word as a prefix":                   {"fox qui", []uint64{7, 1}},
		"takes only the last word as a prefix":              {"qui fox", nil},
		"takes a word with a separator after it as a whole": {"qui ", nil},
		"takes no single letter as a prefix":                {"q", nil},
		"keeps one text per number and kind":                {"once more", nil},
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
	require.Equal(t, []string{"needle"}, hits(t, found[0]))
	require.Less(t, len(found[0].Snippet), 400)
	found, err = s.Search(t.Context(), "quick", 2)
	require.NoError(t, err)
	require.Len(t, found, 2)
}

// hits returns the words by which a text was found.
func hits(t *testing.T, f store.Found) []string {
	t.Helper()
	var words []string
	end := 0
	for _, h := range f.Hits {
		require.True(t, end <= h[0] && h[0] < h[1] && h[1] <= len(f.Snippet), "%v in %q", f.Hits, f.Snippet)
		words = append(words, f.Snippet[h[0]:h[1]])
		end = h[1]
	}
	return words
}

func TestSnippetHasHitPositions(t *testing.T) {
	filling := strings.Repeat("Füllung ", 2000)
	for name, c := range map[string]struct {
		text, words string
		want        []string
	}{
		"every one of them":                   {"the fox and the dog", "the dog", []string{"the", "the", "dog"}},
		"with accents":                        {"ein schöner Tag", "schoner", []string{"schöner"}},
		"whole, if a prefix matched":          {"a new world", "wor", []string{"world"}},
		"without mark characters in the text": {"a\x02b c\x03d \x03\x02 world", "c world", []string{"c", "world"}},
		"in the middle of a long text":        {filling + "the World, the word " + filling, "THE wor", []string{"the", "World", "the", "word"}},
		"at the end of a long text":           {filling + "über", "übe", []string{"über"}},
		"at the beginning of one":             {"ähnlich " + filling, "Ähnlich", []string{"ähnlich"}},
		"but not far into one":                {strings.Repeat(filling, 20) + "needle", "needle", nil},
		"nor words that differ in accents":    {filling + "schöner" + filling, "schoner", nil},
		"every one in a long text":            {strings.Repeat("needles ", 3) + filling, "needle", []string{"needles", "needles", "needles"}},
		"where its words have no space":       {"a-b_c.d", "b d", []string{"b", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			l, err := s.Create(t.Context(), store.Session{ID: "a", Title: "title", Directory: "/project"})
			require.NoError(t, err)
			require.NoError(t, l.Index(store.Text{Number: 1, Kind: "prompt", Body: c.text}))
			require.NoError(t, s.Flush(t.Context()))
			found, err := s.Search(t.Context(), c.words, 10)
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, "title", found[0].Title)
			require.Equal(t, "/project", found[0].Directory)
			require.Equal(t, c.want, hits(t, found[0]))
			require.True(t, utf8.ValidString(found[0].Snippet))
			require.Less(t, len(found[0].Snippet), 600)
			require.NotContains(t, found[0].Snippet, "\x02")
		})
	}
}

func FuzzSearch(f *testing.F) {
	s := open(f, f.TempDir())
	l, err := s.Create(f.Context(), store.Session{ID: "a"})
	require.NoError(f, err)
	require.NoError(f, l.Index(store.Text{Number: 1, Body: "some words"}))
	require.NoError(f, l.Index(store.Text{Number: 2, Body: strings.Repeat("words of a long text, ähnlich ", 1000)}))
	require.NoError(f, s.Flush(f.Context()))
	for _, words := range []string{"some", `"`, "a AND", "NEAR(", "\x00", "\xff", "{a b}:c", "-", "٣", "e\u0301", "\U000e0100"} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		found, err := s.Search(t.Context(), words, 2)
		require.NoError(t, err, "%q", store.Match(words))
		for _, f := range found {
			hits(t, f)
		}
	})
}

// damageIndex overwrites the index of texts, but for what describes its structure.
func damageIndex(t *testing.T, directory string) {
	t.Helper()
	change(t, directory, "UPDATE word_data SET block = zeroblob(length(block)) WHERE id > 10")
}

func TestDamagedIndexIsRebuilt(t *testing.T) {
	for name, use := range map[string]func(*store.Store, *store.Lease) error{
		"by the next search": func(s *store.Store, _ *store.Lease) error {
			_, err := s.Search(t.Context(), "words", 10)
			return err
		},
		"by the next text": func(s *store.Store, l *store.Lease) error {
			for n := uint64(2); n <= 300; n++ { // until parts of the index are merged
				if err := errors.Join(l.Index(store.Text{Number: n, Body: "words"}), s.Flush(t.Context())); err != nil {
					return err
				}
			}
			_, err := s.Search(t.Context(), "other", 10)
			require.NoError(t, err, "the writer has repaired it")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			s := open(t, directory)
			full(t, s, "other", 100)
			l := create(t, s, "a")
			fill(t, s, l, 1, 3)
			damageIndex(t, directory)
			_ = use(s, l)
			require.Eventually(t, func() bool {
				found, err := s.Search(t.Context(), "other", 10)
				return err == nil && len(found) == 1
			}, time.Minute, 10*time.Millisecond)
			require.Nil(t, s.Failure())
			moved, err := filepath.Glob(file(directory) + ".damaged-*")
			require.NoError(t, err)
			require.Empty(t, moved)
			same(t, all(t, s, "a"), 1, 3)
		})
	}
}

func TestDamageIsExaminedOnceAMinute(t *testing.T) {
	directory := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, directory)
		full(t, s, "a", 100)
		search := func() error {
			_, err := s.Search(t.Context(), "words", 10)
			time.Sleep(time.Second) // in which the writer repairs
			return err
		}
		damageIndex(t, directory)
		for range 10 {
			_ = search()
		}
		require.NoError(t, search())
		damageIndex(t, directory)
		for range 10 {
			require.ErrorContains(t, search(), "is damaged")
		}
		time.Sleep(time.Minute)
		require.Error(t, search())
		require.NoError(t, search())
	})
}
