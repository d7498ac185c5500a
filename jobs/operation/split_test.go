package operation_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/jobs/operation"
)

func TestLongTextsAreSplitAtTheEndsOfLines(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	for name, test := range map[string]struct {
		text string
		want []int // lengths
	}{
		"an empty one is one piece":           {"", []int{0}},
		"one that fits as well":               {strings.Repeat("x", 10_000), []int{10_000}},
		"lines stay whole":                    {strings.Repeat(line, 150) + "end", []int{10_000, 5_003}},
		"a piece ends with its last line":     {line + strings.Repeat("y", 10_000), []int{100, 10_000}},
		"a line that is too long is cut":      {strings.Repeat("y", 10_001), []int{10_000, 1}},
		"between characters":                  {"x" + strings.Repeat("é", 5_000), []int{9_999, 2}},
		"also long ones":                      {"xx" + strings.Repeat("🙂", 2_500), []int{9_998, 4}},
		"what is no text is cut all the same": {strings.Repeat("\x80", 10_001), []int{10_000, 1}},
	} {
		var lengths []int
		for _, piece := range operation.Pieces(test.text) {
			lengths = append(lengths, len(piece))
		}
		assert.Equal(t, test.want, lengths, name)
	}
}

func TestLongBlocksAreSplitAtTheEndsOfLines(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	told := operation.Split([]string{"```\n" + strings.Repeat(line, 150) + "```\nend"})
	assert.Len(t, told, 3)
	assert.Len(t, told[0], 4+99*100-1)
	assert.True(t, strings.HasSuffix(told[1], "x\n```"), "the code goes on to its end")
	assert.Equal(t, "end", told[2])
}

func FuzzAllOfATextIsToldHoweverItComes(f *testing.F) {
	f.Add("a\n```go\nb\n\nc\n```\n| x | y |\n|--|\nd\n~~~\n```\n", uint8(3))
	f.Add(strings.Repeat("é", 6_000)+"\n"+strings.Repeat("| a\n", 3_000), uint8(200))
	f.Add("```\n"+strings.Repeat("x", 25_000)+"\n```\ny", uint8(0))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		whole := operation.Split([]string{text})
		for _, block := range whole {
			assert.LessOrEqual(t, len(block), operation.MaxContent)
			assert.True(t, utf8.ValidString(block))
			assert.NotEmpty(t, strings.TrimSpace(block))
		}
		assert.Equal(t, letters(text), letters(strings.Join(whole, "")), "nothing is left out")
		if utf8.ValidString(text) {
			assert.Equal(t, whole, operation.Split(chopped(text, int(size)+1)), "and how it comes makes no difference")
		}
		if joined := strings.Join(operation.Pieces(text), ""); joined != text {
			t.Errorf("pieces of %q make %q", text, joined)
		}
		for _, piece := range operation.Pieces(text) {
			assert.LessOrEqual(t, len(piece), operation.MaxContent)
			assert.True(t, !utf8.ValidString(text) || utf8.ValidString(piece))
		}
	})
}

// chopped is a text in parts of so many characters.
func chopped(text string, size int) (parts []string) {
	for runes := []rune(text); len(runes) > 0; runes = runes[min(size, len(runes)):] {
		parts = append(parts, string(runes[:min(size, len(runes))]))
	}
	return parts
}

// letters are all of a text but its blanks.
func letters(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), "")
}
