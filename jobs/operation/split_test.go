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
	code := "```\n" + strings.Repeat(line, 150) + "```"
	told := operation.Split([]string{code + "\nend"})
	assert.Len(t, told, 2)
	assert.Len(t, told[0], 2)
	assert.Len(t, told[0][0], 4+99*100)
	assert.Equal(t, code, strings.Join(told[0], ""))
	assert.Equal(t, []string{"end"}, told[1])
}

func TestPiecesOfALineMakeItsText(t *testing.T) {
	for name, line := range map[string]string{
		"with blanks at the border": strings.Repeat("x", 9_999) + "   " + strings.Repeat("y", 9_000) + " \t end",
		"with a piece of blanks":    "x" + strings.Repeat(" ", 25_000) + "y",
		"in code":                   "```\n" + strings.Repeat("x", 9_990) + "   " + strings.Repeat("y ", 9_000) + "z\n  last\n```",
		"in a table":                strings.Repeat("| a  \n", 5_000) + "|",
		"between lines of code":     "```\n" + strings.Repeat("a   \n", 1_999) + strings.Repeat("b ", 9_000) + "\n\n\nc\n```",
		"with blanks at the end":    strings.Repeat("x", 12_000) + " \t  ",
		"with an end of blanks":     strings.Repeat("x", 10_000) + "   ",
		"a table with blanks":       strings.Repeat("| a  \n", 5_000) + "|  ",
		"code that ends in blanks":  "```\n" + strings.Repeat("a   \n", 2_500) + "```  ",
		"and has no end":            "```\n" + strings.Repeat("a   \n", 2_499) + "  \n \n",
	} {
		told := operation.Split([]string{line + "\n"})
		if assert.Len(t, told, 1, name) {
			assert.Greater(t, len(told[0]), 1, name)
			assert.Equal(t, line, strings.Join(told[0], ""), name)
		}
	}
}

func TestTrailingBlanksArePreserved(t *testing.T) {
	assert.Equal(t, [][]string{{"a hard break  "}, {"  b\t"}, {"c"}}, operation.Split([]string{"a hard break  \n \n  b\t\r\nc"}))
}

func FuzzAllOfATextIsToldHoweverItComes(f *testing.F) {
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
				assert.Contains(t, text, block, "pieces make what was there")
			}
			all.WriteString(block)
		}
		assert.Equal(t, letters(text), letters(all.String()), "nothing is left out")
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
