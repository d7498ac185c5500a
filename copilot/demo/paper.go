package demo

import (
	"regexp"
	"strings"
)

// The prompt of an operation carries a document between two lines with a code of 16 hexadecimal digits:
//
//	=== document 0123456789abcdef begins ===
//	=== document 0123456789abcdef ends ===
//
// The code stands nowhere in the document. The line break before the second line is none of it.

// splitDocument takes the document out of a prompt. What is left is around it.
func splitDocument(prompt string) (document, around string, ok bool) {
	begin := regexp.MustCompile(`(?m)^=== document ([0-9a-f]{16}) begins ===\n`).FindStringSubmatchIndex(prompt)
	if begin == nil {
		return "", prompt, false
	}
	rest := prompt[begin[1]:]
	end := "\n=== document " + prompt[begin[2]:begin[3]] + " ends ==="
	document, after, ok := strings.Cut("\n"+rest, end)
	if !ok {
		return "", prompt, false
	}
	return strings.TrimPrefix(document, "\n"), prompt[:begin[0]] + after, true
}

// stageDirections are the keywords of a document whose first line is <!-- demo: KEYWORDS -->.
func stageDirections(document string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(document, "\n"), "\n")
	line, ok := strings.CutPrefix(strings.TrimSpace(line), "<!-- demo:")
	keywords, closed := strings.CutSuffix(line, "-->")
	if !ok || !closed {
		return ""
	}
	return keywords
}

const (
	longestHeading = 80   // that is told, in characters
	mostRead       = 1000 // passages, and sentences of each: a script need not be thorough
)

// A passage is a heading, a list item or a paragraph of a document.
type passage struct {
	kind    passageKind
	level   int    // of a heading: 1 to 6; of an item: how far it is indented
	number  string // of an item in a numbered list
	heading string // under which it stands, shortened
	text    string
}

type passageKind int

const (
	paragraph passageKind = iota
	heading
	item
)

// passages parts a document, or the beginning of a very long one, without its code blocks and comments.
func passages(document string) []passage {
	r := paperReader{
		title: regexp.MustCompile(`^(#{1,6})\s+(.+?)\s*#*$`),
		item:  regexp.MustCompile(`^(\s*)(?:[-*+]|(\d+)[.)])\s+(?:\[[ xX]\]\s+)?(.+)$`),
	}
	document = regexp.MustCompile(`(?s)<!--.*?(-->|$)`).ReplaceAllString(document, "")
	fence := ""
	for line := range strings.Lines(document) {
		line = strings.TrimRight(line, "\r\n \t")
		sign := fenceOf(line)
		switch {
		case fence == "" && sign != "":
			fence = sign
			r.end()
		case fence != "" && strings.HasPrefix(sign, fence):
			fence = ""
		case fence == "":
			r.line(line)
		}
		if len(r.found) == mostRead {
			break
		}
	}
	r.end()
	return r.found
}

// fenceOf is the run of backticks or tildes with which a line opens or closes a code block.
func fenceOf(line string) string {
	line = strings.TrimSpace(line)
	for _, sign := range []string{"`", "~"} {
		if run := line[:len(line)-len(strings.TrimLeft(line, sign))]; len(run) >= 3 {
			return run
		}
	}
	return ""
}

// A paperReader goes through the lines of a document.
type paperReader struct {
	title, item *regexp.Regexp
	found       []passage
	under       string   // the last heading
	lines       []string // of the last passage, which may go on in the next line
}

// end completes the last passage.
func (r *paperReader) end() {
	if len(r.lines) > 0 {
		r.found[len(r.found)-1].text = strings.Join(r.lines, " ")
	}
	r.lines = nil
}

func (r *paperReader) line(line string) {
	text := strings.TrimSpace(line)
	switch {
	case text == "":
		r.end()
	case r.title.MatchString(text):
		m := r.title.FindStringSubmatch(text)
		r.under = shorten(plainText(m[2]), longestHeading)
		r.add(passage{kind: heading, level: len(m[1]), text: plainText(m[2])})
		r.end()
	case r.item.MatchString(line):
		m := r.item.FindStringSubmatch(line)
		r.add(passage{kind: item, level: len(m[1]), number: m[2], text: plainText(m[3])})
	case len(r.lines) > 0:
		r.lines = append(r.lines, plainText(text))
	default:
		r.add(passage{text: plainText(text)})
	}
}

func (r *paperReader) add(p passage) {
	r.end()
	p.heading = r.under
	r.found = append(r.found, p)
	r.lines = []string{p.text}
}

// plainText is text without its marks of emphasis.
func plainText(s string) string { return strings.NewReplacer("**", "", "__", "").Replace(s) }

// sentenceEnds are full stops, question and exclamation marks that a capital letter, a digit or a quotation follows.
func sentenceEnds() *regexp.Regexp { return regexp.MustCompile(`([.!?]["')]*)\s+(?:\p{Lu}|\d|["'(])`) }

// sentences parts a text after its ends. The last one of very many is all the rest.
func sentences(text string, ends *regexp.Regexp) []string {
	var all []string
	for {
		at := ends.FindStringSubmatchIndex(text)
		if at == nil || len(all) == mostRead-1 {
			return append(all, strings.TrimSpace(text))
		}
		cut := at[3] // behind the full stop
		all = append(all, strings.TrimSpace(text[:cut]))
		text = text[cut:]
	}
}

// titleOf is the first heading, or else the first words.
func titleOf(found []passage) string {
	for _, p := range found {
		if p.kind == heading {
			return shorten(p.text, longestHeading)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return shorten(found[0].text, longestHeading)
}
