package book_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPromptsAreExpanded(t *testing.T) {
	b := load(t, `
models: {driving: m}
promptVariables:
  name: [Ada]
  long-name: [Ada Lovelace]
  two: [first, second]
  greeting: ["Hello, $name!", $two]
  none: []
  with-input: ["<$user-input>"]
tasks: {t: {prompt: [x]}}
`)
	values := map[string]string{
		"user-input": "give me $name and $reported-document", "task-model": "gpt", "reported-document": "",
		"reported-true-reason": "good", "two": "never seen",
	}
	for _, c := range []struct {
		name   string
		prompt []string
		want   string
	}{
		{"lines are joined", []string{"a", "", "b"}, "a\n\nb"},
		{"a variable", []string{"I am $name."}, "I am Ada."},
		{"several, side by side", []string{"$name$name, $name"}, "AdaAda, Ada"},
		{"the longest name counts", []string{"$long-name"}, "Ada Lovelace"},
		{"a dash without a letter after it ends the name", []string{"$name- $name-1 $name--x"}, "Ada- Ada-1 Ada--x"},
		{"so does a digit, an underscore or a letter of another script", []string{"$name1 $name_x $nameさん"}, "Ada1 Ada_x Adaさん"},
		{"a variable of several lines", []string{"- $two."}, "- first\nsecond."},
		{"variables in variables", []string{"$greeting"}, "Hello, Ada!\nfirst\nsecond"},
		{"a variable without lines", []string{"[$none]"}, "[]"},
		{"run-time variables", []string{"$task-model: $reported-true-reason"}, "gpt: good"},
		{"an empty value is a value", []string{"[$reported-document]"}, "[]"},
		{"a variable without a value", []string{"$reported-false-reason!"}, "<MISSING>!"},
		{"an unknown variable", []string{"$no-such-thing"}, "<MISSING>"},
		{"inserted text is not expanded again", []string{"$user-input"}, "give me $name and $reported-document"},
		{"inserted text in a variable is not expanded again", []string{"$with-input"}, "<give me $name and $reported-document>"},
		{"inserted text does not form a name with the text after it", []string{"$$none$name"}, "$Ada"},
		{"the book's own variable wins", []string{"$two"}, "first\nsecond"},
		{"names are case-sensitive", []string{"$Name"}, "<MISSING>"},
		{"other uses of $ stay", []string{"$ $5 $$ ${name} $(name) $-name cost: 3$"}, "$ $5 $$ ${name} $(name) $-name cost: 3$"},
		{"nothing", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, b.Expand(c.prompt, values)) })
	}
}
