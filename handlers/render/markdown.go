package render

import (
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

var commonmark = sync.OnceValue(newMarkdown) //nolint:gochecknoglobals // expensive to create, never changed

// newMarkdown returns GFM without raw HTML, which becomes text.
func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(
				util.Prioritized(parser.NewSetextHeadingParser(), 100),
				util.Prioritized(parser.NewThematicBreakParser(), 200),
				util.Prioritized(parser.NewListParser(), 300),
				util.Prioritized(parser.NewListItemParser(), 400),
				util.Prioritized(parser.NewCodeBlockParser(), 500),
				util.Prioritized(parser.NewATXHeadingParser(), 600),
				util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
				util.Prioritized(parser.NewBlockquoteParser(), 800),
				util.Prioritized(parser.NewParagraphParser(), 1000)),
			parser.WithInlineParsers(
				util.Prioritized(parser.NewCodeSpanParser(), 100),
				util.Prioritized(parser.NewLinkParser(), 200),
				util.Prioritized(parser.NewAutoLinkParser(), 300),
				util.Prioritized(parser.NewEmphasisParser(), 500)),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))),
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.TaskList, extension.Linkify),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 1))))
}

// Markdown renders a whole text, like a [Stream], except that links may be defined after
// their use.
func Markdown(text string) string {
	var s Stream
	done, tail := s.Add(text)
	refs := s.defined()
	if len(refs) > 0 {
		s = Stream{refs: refs}
		done, tail = s.Add(text)
	}
	return done + tail
}

// markdown renders blocks, and returns all known link definitions if there are new ones.
func markdown(source string, refs []parser.Reference) (string, []parser.Reference) {
	source = clean(source)
	if !isAffordable(source) {
		return plain(source), nil
	}
	known := parser.NewContext()
	if strings.Contains(source, "[") {
		for _, ref := range refs {
			known.AddReference(ref)
		}
	}
	before := len(known.References())
	var b strings.Builder
	in := []byte(source)
	doc := commonmark().Parser().Parse(text.NewReader(in), parser.WithContext(known))
	if err := commonmark().Renderer().Render(&b, in, doc); err != nil || b.Len() > maxHTML {
		return plain(source), nil
	}
	if len(known.References()) == before {
		return safe(b.String()), nil
	}
	return safe(b.String()), known.References()
}

// isAffordable reports whether blocks can be parsed in linear time. Other text is unlikely
// to be written by people.
func isAffordable(source string) bool {
	special, lines, widest := 0, 0, 0
	for line := range strings.Lines(source) {
		if len(line) > maxLine || nesting(line) > maxNesting && !isRule(line) {
			return false
		}
		special += specials(line)
		lines++
		widest = max(widest, strings.Count(line, "|"))
	}
	return special <= maxSpecial && lines*widest <= maxCells
}

func specials(line string) (n int) {
	for i := range len(line) {
		switch line[i] {
		case '*', '_', '~', '`', '[', ']', '<', '@':
			n++
		}
	}
	return n
}

// nesting counts the quotes and lists that a line opens or continues.
func nesting(line string) (depth int) {
	for i := range len(line) {
		isLast := i+1 == len(line) || strings.IndexByte(" \t\n", line[i+1]) >= 0
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c >= '0' && c <= '9':
		case c == '>':
			depth++
		case strings.IndexByte("-+*.)", c) >= 0 && isLast:
			depth++
		default:
			return depth
		}
	}
	return depth
}
