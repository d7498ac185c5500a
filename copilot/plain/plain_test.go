package plain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/plain"
)

func TestShownTextIsCleaned(t *testing.T) {
	for name, test := range map[string]struct{ given, text, output string }{
		"text is unchanged":              {"a\n\tb é 🙂", "a\n\tb é 🙂", "a\n\tb é 🙂"},
		"only output has colors":         {"\x1b[1;31mred\x1b[0m", "[1;31mred[0m", "\x1b[1;31mred\x1b[0m"},
		"the cursor does not move":       {"\x1b[2J\x1b[Hx", "[2J[Hx", "[2J[Hx"},
		"a title is not set":             {"\x1b]0;evil\x07x", "]0;evilx", "]0;evilx"},
		"the bell does not ring":         {"a\x07b", "ab", "ab"},
		"a line is not overwritten":      {"safe\rrm", "saferm", "safe\rrm"},
		"text is not reversed":           {"a\u202egpj.exe", "agpj.exe", "agpj.exe"},
		"eight-bit controls are removed": {"a\u009b31mb", "a31mb", "a31mb"},
	} {
		assert.Equal(t, test.text, plain.Text(test.given), name)
		assert.Equal(t, test.output, plain.Output(test.given), name)
	}
}

func TestCleanedTextHasNoSequences(t *testing.T) {
	for given, want := range map[string]string{
		"a\n\tb é 🙂":                                   "a\n\tb é 🙂",
		"\x1b[1;31mred\x1b[0m":                         "red",
		"\x1b[2J\x1b[Hx\x1b(B":                         "x",
		"\x1b]0;evil\x07x":                             "x",
		"\x1b]8;;https://evil.example\x1b\\here":       "here",
		"one\r\ntwo\rthree":                            "one\ntwo\nthree",
		"\u202egpj.exe\a":                              "gpj.exe",
		"a title \x1b]0;without an end\nhides nothing": "a title \nhides nothing",
		"a truncated sequence \x1b[3":                  "a truncated sequence 3",
	} {
		assert.Equal(t, want, plain.StripAll(given), "%q", given)
	}
}

func FuzzCleaningIsIdempotent(f *testing.F) {
	f.Add("a\x1b[31m\x1b[2J\r\u202e\x1b\x1b[0m[m")
	f.Fuzz(func(t *testing.T, s string) {
		assert.Equal(t, plain.Text(s), plain.Text(plain.Text(s)))
		assert.Equal(t, plain.Output(s), plain.Output(plain.Output(s)))
		assert.Equal(t, plain.StripAll(s), plain.StripAll(plain.StripAll(s)))
	})
}

func TestLineHasMaximumLength(t *testing.T) {
	for in, want := range map[string]string{
		" a\n\tb ": "a b", "12345": "12345", "äöüßé": "äöüßé", "123456": "1234…", "äöü ßé": "äöü …", "": "",
	} {
		assert.Equal(t, want, plain.Line(in, 5), "%q", in)
	}
}

func TestCutTextIsValidAndEndsWithEllipsis(t *testing.T) {
	for text, want := range map[string]string{"short": "short", "exactly ten": "exactly t…", "ten  ????ü": "ten  ????ü", "a        b c": "a…", "a\xffb": "ab"} {
		assert.Equal(t, want, plain.Cut(text, 10))
	}
}
