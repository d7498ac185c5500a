package studio_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/jobs/studio"
	"github.com/copilot-portal/portal/jobs/studio/code"
)

// cut splits a text into pieces of one size.
func cut(text string, size int) (pieces []string) {
	for len(text) > size {
		pieces = append(pieces, text[:size])
		text = text[size:]
	}
	return append(pieces, text)
}

func TestOnlyCodeIsStreamed(t *testing.T) {
	for name, c := range map[string]struct{ answer, streamed string }{
		"only the block":                            {"Here:\n```jsx\na\n\n b\n```\nDescription: it", "a\n\n b\n"},
		"only the first block":                      {"```\na\n```\n```\nb\n```\n", "a\n"},
		"marks within lines":                        {"```jsx\nx = '```'; y\n  ``\n`\n```\n", "x = '```'; y\n  ``\n`\n"},
		"a block with longer marks":                 {"````jsx\na\n```\nb\n````\n", "a\n```\nb\n"},
		"an indented block":                         {"  ```jsx\n  a\n  ```\n", "  a\n"},
		"an unfinished block":                       {"```jsx\na\nb", "a\nb"},
		"Windows line breaks":                       {"```jsx\r\na\r\nb\r\n```\r\nc", "a\nb\n"},
		"no code in a question":                     {"```question\n{}\n```\n", ""},
		"no code in a refusal":                      {"```refusal\nno\n```\n", ""},
		"no code after marks within a line":         {"one ```jsx\na\n", ""},
		"no code after marks with more than a word": {"```a``` is code\nb\n", ""},
		"no code without a block":                   {"I cannot.\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(c.answer); size++ {
				assert.Equal(t, c.streamed, studio.Stream(cut(c.answer, size)), "in pieces of %d", size)
			}
		})
	}
}

func TestStreamOmitsSuggestions(t *testing.T) {
	for name, c := range map[string]struct{ answer, streamed string }{
		"text before suggestions": {"Yes.\n```suggestions\n- a\n```\n", "Yes.\n"},
		"other code":              {"So:\n```\nx\n```\n```suggestions\na\n```", "So:\n```\nx\n```\n"},
		"no suggestions":          {"Yes.\nNo.", "Yes.\nNo."},
		"only suggestions":        {"```suggestions\na\n```", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for size := 1; size <= len(c.answer); size++ {
				assert.Equal(t, c.streamed, studio.Spoken(cut(c.answer, size)), "in pieces of %d", size)
			}
		})
	}
}

func FuzzPiecesMakeUpTheCode(f *testing.F) {
	f.Add("function App() {}\n", "Here it is.\n", 3)
	f.Add("a\r\n```js\n ``\n", "", 1)
	f.Add("", "`", 7)
	f.Fuzz(func(t *testing.T, source, before string, size int) {
		if size < 1 || strings.Contains(before, "`") || strings.Contains(before, "~") || strings.Contains(before, "\r") {
			t.Skip("another block may start before")
		}
		source = strings.ReplaceAll(strings.ReplaceAll(source, "\r", ""), "\n```", "\n'''") + "\n"
		source = strings.ReplaceAll(strings.TrimLeft(source, "`~ \t"), "~", "-")
		for line := range strings.Lines(source) {
			if strings.HasPrefix(strings.TrimLeft(line, " \t"), "```") {
				t.Skip("the block would end there")
			}
		}
		answer := before + "\n```jsx\n" + source + "```\nDescription: it\n"
		streamed := studio.Stream(cut(answer, size))
		assert.Equal(t, source, streamed)
		if found, ok := code.Find(answer); ok {
			assert.Equal(t, found, streamed)
		}
	})
}

func FuzzPiecesDoNotChangeStream(f *testing.F) {
	f.Add("Here:\n```jsx\na\r\n``\n```\n", 1)
	f.Add("````\n```\n````", 2)
	f.Add("\r\r\n```\r", 1)
	f.Fuzz(func(t *testing.T, answer string, size int) {
		if size < 1 {
			t.Skip("no size")
		}
		assert.Equal(t, studio.Stream([]string{answer}), studio.Stream(cut(answer, size)))
		assert.Equal(t, studio.Spoken([]string{answer}), studio.Spoken(cut(answer, size)))
	})
}

func TestSuggestionsAreExtracted(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		want   studio.Chatted
	}{
		"as a list":        {"Yes.\n\n```suggestions\n- One\n- Two\n```\n", studio.Chatted{Message: "Yes.", Suggestions: []string{"One", "Two"}}},
		"as lines":         {"Yes.\n```suggestions\nOne\n\n Two \n```", studio.Chatted{Message: "Yes.", Suggestions: []string{"One", "Two"}}},
		"unterminated":     {"Yes.\n```suggestions\nOne", studio.Chatted{Message: "Yes.", Suggestions: []string{"One"}}},
		"no suggestions":   {"Yes.", studio.Chatted{Message: "Yes."}},
		"only suggestions": {"```suggestions\nOne\n```", studio.Chatted{Suggestions: []string{"One"}}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, studio.ReadChat(c.answer)) })
	}
}
