package render

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/parser"
)

// Stream renders Markdown that arrives in pieces. However a text is split, all appended HTML
// and the last tail together equal the result of [Markdown] for the whole text, except that
// a link must be defined before the block that uses it.
//
// A block is complete once later text cannot change it, which is known at the first line
// after a blank one. Two kinds of blocks are divided earlier: code every 100 lines (or 8 KB),
// where it continues with class "continued" and new colors; and a list between two items
// after 8 KB, so that parts of it may be loose and others tight. A tail has at most 64 KB of
// source, and a line of it at most 16 KB: beyond, the block is cut and shown as text.
//
// A tail of more than 4 KB is rendered again when it has grown by an eighth; until then new
// text follows it unformatted. An empty piece marks the end and renders the whole tail.
//
// The zero value is ready to use. A Stream is not safe for concurrent use.
type Stream struct {
	rest  string // the incomplete block
	lines lines
	read  int // bytes of the lines of rest that were read
	done  int // bytes before rest
	fence *fence
	plain bool // rest begins in a line that was cut: the rest of the line is text, too
	refs  []parser.Reference

	shown struct { // the rendered start of a long rest
		size int
		html string
	}
	last    tail     // the previous one
	counted struct { // the start of a tail, with its length in UTF-16 units
		html  string
		units int
	}
}

// Add adds a piece. appended is the HTML of the blocks that are now complete, and follows
// what was appended before. tail is the HTML of the incomplete block, and replaces the
// previous tail.
func (s *Stream) Add(piece string) (appended, tail string) {
	appended, s.last = s.add(piece)
	return appended, s.last.start + s.last.end
}

func (s *Stream) add(piece string) (appended string, last tail) {
	var b strings.Builder
	s.rest += piece
	for s.line(&b) {
	}
	return b.String(), s.tail(piece == "")
}

// line reads one line and writes the blocks that it completes. The order of its checks
// makes the result independent of how a line is split into pieces.
func (s *Stream) line(b *strings.Builder) bool {
	end := strings.IndexByte(s.rest[s.read:], '\n') + s.read + 1
	whole := end > s.read
	if !whole {
		end = len(s.rest)
	}
	if limit := s.limit(); end > limit {
		s.flushAsText(b, limit)
		return true
	}
	switch {
	case !whole:
		return false
	case s.fence != nil:
		s.code(b, end)
	case s.plain:
		if strings.TrimSpace(s.rest[:end]) != "" {
			b.WriteString(plain(s.rest[:end]))
		}
		s.discard(end)
		s.plain = false
	case s.done > maxMarkdown:
		s.read = end // the rest is plain text
	default:
		s.markdown(b, end)
	}
	return true
}

// limit returns the number of bytes after which the block is cut. A line that is too long makes the block text, so nothing
// is gained by waiting for more of it.
func (s *Stream) limit() int {
	switch {
	case s.fence != nil:
		return maxBlock
	case s.plain:
		return softBlock
	}
	return min(maxBlock, s.read+maxLine)
}

// flushAsText writes a block that is longer than a limit as text, up to the end of a line or of a word if possible.
func (s *Stream) flushAsText(b *strings.Builder, limit int) {
	part := cut(s.rest, limit)
	for _, end := range []byte("\n ") {
		if at := strings.LastIndexByte(part, end); at > limit/2 {
			part = part[:at+1]
			break
		}
	}
	b.WriteString(plain(part))
	s.discard(len(part))
	s.plain = s.fence == nil && !strings.HasSuffix(part, "\n")
	s.continueBlock()
}

// continueBlock continues after a block was cut.
func (s *Stream) continueBlock() {
	s.lines = lines{}
	switch {
	case s.done > maxMarkdown:
		s.fence = nil // the rest is plain text
	case s.fence != nil:
		s.fence.restart()
	}
}

// discard removes the first n bytes, which were appended.
func (s *Stream) discard(n int) {
	s.rest = s.rest[n:]
	s.done += n
	s.read = 0
	s.shown.size = 0
}

// markdown reads a line outside of code.
func (s *Stream) markdown(b *strings.Builder, end int) {
	line := s.rest[s.read:end]
	if s.lines.begins(line, s.read >= softBlock) {
		s.appendBlocks(b, s.read)
		s.lines = lines{}
	}
	if f := s.lines.fence(line); f != nil {
		s.appendBlocks(b, s.read)
		s.discard(len(line))
		s.lines, s.fence = lines{}, f
		return
	}
	s.lines.read(line)
	s.read += len(line)
}

// appendBlocks appends the blocks before a position.
func (s *Stream) appendBlocks(b *strings.Builder, end int) {
	if strings.TrimSpace(s.rest[:end]) != "" {
		out, refs := markdown(s.rest[:end], s.refs)
		b.WriteString(out)
		s.define(refs)
	}
	s.discard(end)
}

// define records link definitions. The list includes the known ones.
func (s *Stream) define(refs []parser.Reference) {
	if refs != nil && len(refs) <= maxLinks {
		s.refs = refs
	}
}

// code reads a line of a code block.
func (s *Stream) code(b *strings.Builder, end int) {
	line := s.rest[s.read:end]
	if s.fence.isEnd(line) {
		b.WriteString(s.fence.whole(s.rest[:s.read]))
		s.discard(end)
		s.fence = nil
		return
	}
	s.read = end
	s.fence.lines++
	if s.fence.lines >= fenceLines || s.read >= maxFence {
		b.WriteString(s.fence.whole(s.rest[:s.read]))
		s.discard(s.read)
		s.continueBlock()
	}
}

func (s *Stream) tail(isEnd bool) tail {
	switch {
	case s.fence != nil && s.fence.isEnd(s.rest[s.read:]):
		return tail{end: s.fence.whole(s.rest[:s.read])}
	case s.fence != nil:
		return tail{end: s.fence.part(s.rest)}
	case strings.TrimSpace(s.rest) == "":
		return tail{}
	case s.plain, s.done > maxMarkdown:
		return tail{end: plain(s.rest)}
	}
	known := s.shown.size
	if known > eager && len(s.rest)-known < known/8 && !isEnd {
		return tail{s.shown.html, `<p class="plain">` + html.EscapeString(clean(s.rest[known:])) + "</p>\n"}
	}
	s.shown.size = len(s.rest)
	s.shown.html, _ = markdown(s.rest, s.refs)
	return tail{start: s.shown.html}
}

// defined returns all link definitions, those of the tail included.
func (s *Stream) defined() []parser.Reference {
	if s.fence == nil && !s.plain && s.done <= maxMarkdown && strings.Contains(s.rest, "]:") {
		_, refs := markdown(s.rest, s.refs)
		s.define(refs)
	}
	return s.refs
}
