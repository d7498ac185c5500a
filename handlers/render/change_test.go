package render_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/render"
)

// follow applies a change to a tail as a UI does, in UTF-16 units.
func follow(t *testing.T, tail []uint16, c render.Change) []uint16 {
	t.Helper()
	require.LessOrEqual(t, c.Keep, len(tail))
	return append(tail[:c.Keep:c.Keep], utf16.Encode([]rune(c.Tail))...)
}

func TestChangesAddUpToTheTail(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 0))
	all := append(parts(), "𝕩 ", "<", "&", strings.Repeat("𝕩 words & more ", 500))
	for range 8 {
		var whole, changes render.Stream
		var tail []uint16
		compared := func(html string) string { return html }
		for range 60 {
			piece := all[random.IntN(len(all))]
			begin := time.Now()
			done, want := whole.Add(piece)
			c := changes.Change(piece)
			if isLate(begin) {
				compared = withoutSpans // one of them may be coloured, the other not
			}
			tail = follow(t, tail, c)
			require.Equal(t, compared(done), compared(c.Append))
			require.Equal(t, compared(want), compared(string(utf16.Decode(tail))))
		}
	}
}

func TestChangesOfALongBlockAreProportionalToIt(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]string{"a line": "word ", "lines": "a *word*\n", "code": "x := 1 // a line\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s render.Stream
			size, text := 0, 0
			if name == "code" {
				s.Change("```go\n")
			}
			for range 4000 {
				c := s.Change(word)
				size += len(c.Append) + len(c.Tail)
				text += len(word)
			}
			assert.Less(t, size, 40*text)
		})
	}
}
