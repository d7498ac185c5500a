package operation_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/jobs/operation"
)

func TestLongTextsAreSplitAtLineEnds(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	for name, test := range map[string]struct {
		text string
		want []int // lengths
	}{
		"an empty text is one piece":      {"", []int{0}},
		"so is a text that fits":          {strings.Repeat("x", 10_000), []int{10_000}},
		"lines stay whole":                {strings.Repeat(line, 150) + "end", []int{10_000, 5_003}},
		"a piece ends with its last line": {line + strings.Repeat("y", 10_000), []int{100, 10_000}},
		"a long line is split":            {strings.Repeat("y", 10_001), []int{10_000, 1}},
		"between characters":              {"x" + strings.Repeat("é", 5_000), []int{9_999, 2}},
		"also between long characters":    {"xx" + strings.Repeat("🙂", 2_500), []int{9_998, 4}},
		"invalid UTF-8 is split anyway":   {strings.Repeat("\x80", 10_001), []int{10_000, 1}},
	} {
		var lengths []int
		for _, piece := range operation.Pieces(test.text) {
			lengths = append(lengths, len(piece))
		}
		assert.Equal(t, test.want, lengths, name)
	}
}

func TestLongBlocksAreSplitAtLineEnds(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	code := "```\n" + strings.Repeat(line, 150) + "```"
	got := operation.Split([]string{code + "\nend"})
	assert.Len(t, got, 2)
	assert.Len(t, got[0], 2)
	assert.Len(t, got[0][0], 4+99*100)
	assert.Equal(t, code, strings.Join(got[0], ""))
	assert.Equal(t, []string{"end"}, got[1])
}

func TestPiecesOfLineMakeUpItsText(t *testing.T) {
	for name, line := range map[string]string{
		"with spaces at the split":    strings.Repeat("x", 9_999) + "   " + strings.Repeat("y", 9_000) + " \t end",
		"with a piece of spaces":      "x" + strings.Repeat(" ", 25_000) + "y",
		"in code":                     "```\n" + strings.Repeat("x", 9_990) + "   " + strings.Repeat("y ", 9_000) + "z\n  last\n```",
		"in a table":                  strings.Repeat("| a  \n", 5_000) + "|",
		"between lines of code":       "```\n" + strings.Repeat("a   \n", 1_999) + strings.Repeat("b ", 9_000) + "\n\n\nc\n```",
		"with spaces at the end":      strings.Repeat("x", 12_000) + " \t  ",
		"with a last piece of spaces": strings.Repeat("x", 10_000) + "   ",
		"a table with spaces":         strings.Repeat("| a  \n", 5_000) + "|  ",
		"code that ends in spaces":    "```\n" + strings.Repeat("a   \n", 2_500) + "```  ",
		"unterminated code":           "```\n" + strings.Repeat("a   \n", 2_499) + "  \n \n",
	} {
		got := operation.Split([]string{line + "\n"})
		if assert.Len(t, got, 1, name) {
			assert.Greater(t, len(got[0]), 1, name)
			assert.Equal(t, line, strings.Join(got[0], ""), name)
		}
	}
}

func TestTrailingSpacesAreKept(t *testing.T) {
	assert.Equal(t, [][]string{{"a hard break  "}, {"  b\t"}, {"c"}}, operation.Split([]string{"a hard break  \n \n  b\t\r\nc"}))
}

func FuzzSplitKeepsTextForAnyDeltas(f *testing.F) {
	f.Add("a\n```go\nb\n\nc\n```\n| x | y |\n|--|\nd\n~~~\n```\n", uint8(3))
	f.Add(strings.Repeat("é", 6_000)+"\n"+strings.Repeat("| a\n", 3_000), uint8(200))
	f.Add("```\n"+strings.Repeat("x", 25_000)+"\n```\ny", uint8(0))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		whole := operation.Split([]string{text})
		var all strings.Builder
		for _, pieces := range whole {
			for _, piece := range pieces {
				assert.LessOrEqual(t, len(piece), operation.MaxContent)
				assert.NotEmpty(t, piece)
				assert.True(t, utf8.ValidString(piece))
			}
			block := strings.Join(pieces, "")
			assert.NotEmpty(t, strings.TrimSpace(block))
			if utf8.ValidString(text) {
				assert.Contains(t, text, block, "pieces make up the text")
			}
			all.WriteString(block)
		}
		assert.Equal(t, letters(text), letters(all.String()), "nothing is omitted")
		if utf8.ValidString(text) {
			assert.Equal(t, whole, operation.Split(chopped(text, int(size)+1)), "independent of the deltas")
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

// chopped splits a text into parts of so many characters.
func chopped(text string, size int) (parts []string) {
	for runes := []rune(text); len(runes) > 0; runes = runes[min(size, len(runes)):] {
		parts = append(parts, string(runes[:min(size, len(runes))]))
	}
	return parts
}

// letters removes white space.
func letters(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), "")
}
