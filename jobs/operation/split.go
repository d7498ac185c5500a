package operation

import (
	"strings"
	"unicode/utf8"
)

// MaxContent is how long the content of a message is at most, in bytes. "10KB"
// (spec/contracts/websocket.md, "Field Definitions") can be read in two ways; this is the shorter.
const MaxContent = 10_000

// pieces splits a text that is too long for one message, at the ends of lines or,
// where a line is too long, between characters. Nothing is left out.
func pieces(text string) []string {
	var list []string
	for len(text) > MaxContent {
		at := border(text)
		list, text = append(list, text[:at]), text[at:]
	}
	return append(list, text)
}

// border is where a piece of a text that is too long ends.
func border(text string) int {
	if at := strings.LastIndexByte(text[:MaxContent], '\n') + 1; at > 0 {
		return at
	}
	at := MaxContent
	for at > MaxContent-utf8.UTFMax && !utf8.RuneStart(text[at]) {
		at--
	}
	if !utf8.RuneStart(text[at]) { // no UTF-8
		return MaxContent
	}
	return at
}

// textPart is a text to be told: a line, a block, or a piece of one that is too long for a message.
type textPart struct {
	text string
	goes bool // the next one goes on with the same line or block; put together they make its text
	part bool // it is the last of several that make a line or block
}

// splitter makes messages of a Markdown text that comes in pieces: each line as
// soon as it is complete, but what would mean nothing line by line, code in fences
// and tables, as a whole. Nothing but blank lines is left out.
type splitter struct {
	line    []byte // the one that has no end yet
	goes    bool   // a part of it has been told already
	block   strings.Builder
	cut     bool   // a part of the block has been told already
	fence   string // that is open in the block; "" in a table
	outside bool   // fences mean nothing: every line goes alone
}

// write takes what follows and gives what can be told now.
func (s *splitter) write(text string) (list []textPart) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for text != "" {
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			return append(list, s.begin(text)...)
		}
		list = append(list, s.begin(text[:end+1])...)
		if len(s.line) > 0 {
			list = append(list, s.end()...)
		}
		text = text[end+1:]
	}
	return list
}

// finish gives what is left at the end of the text.
func (s *splitter) finish() []textPart {
	list := append(s.end(), s.flush()...)
	s.fence, s.goes = "", false
	return list
}

// begin goes on with the line, of which it tells a part if it becomes too long.
func (s *splitter) begin(text string) []textPart {
	s.line = append(s.line, text...)
	if len(s.line) <= MaxContent {
		return nil
	}
	var list []textPart
	if s.fence != "" {
		list = s.flushPart(nil)
	} else {
		list = s.flush()
	}
	parts := pieces(string(s.line))
	last := len(parts) - 1
	for _, part := range parts[:last] {
		list = append(list, textPart{text: part, goes: true})
	}
	s.line, s.goes = []byte(parts[last]), true
	return list
}

// end takes the line as complete.
func (s *splitter) end() []textPart {
	line, goes := string(s.line), s.goes
	s.line, s.goes = s.line[:0], false
	switch {
	case goes && s.fence == "":
		return lastPart(line)
	case s.fence != "":
		list := s.add(line)
		if !goes && closes(line, s.fence) {
			list, s.fence = append(list, s.flush()...), ""
		}
		return list
	case s.outside:
	case opens(line) != "":
		list := append(s.flush(), s.add(line)...)
		s.fence = opens(line)
		return list
	case strings.HasPrefix(strings.TrimSpace(line), "|"):
		return s.add(line)
	}
	return keepUnlessBlank(s.flush(), line)
}

// add puts a line into the block, after telling that if it would become too long.
func (s *splitter) add(line string) (list []textPart) {
	if s.block.Len()+len(line) > MaxContent {
		list = s.flushPart(nil)
	}
	s.block.WriteString(line)
	return list
}

// flushPart tells the block so far, which goes on.
func (s *splitter) flushPart(list []textPart) []textPart {
	if s.block.Len() > 0 {
		list, s.cut = append(list, textPart{text: s.block.String(), goes: true}), true
	}
	s.block.Reset()
	return list
}

// flush tells the block.
func (s *splitter) flush() []textPart {
	block, cut := s.block.String(), s.cut
	s.block.Reset()
	s.cut = false
	if cut {
		return lastPart(block)
	}
	return keepUnlessBlank(nil, block)
}

// lastPart is the last of several that make a line or block, without its line end.
func lastPart(text string) []textPart {
	if text = trimEnd(text); text == "" {
		return nil
	}
	return []textPart{{text: text, part: true}}
}

// trimEnd takes the line end from a text, and no blanks: they belong to it.
func trimEnd(text string) string { return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r") }

// keepUnlessBlank adds a text without its line end.
func keepUnlessBlank(list []textPart, text string) []textPart {
	if strings.TrimSpace(text) == "" {
		return list
	}
	return append(list, textPart{text: trimEnd(text)})
}

// opens gives the fence that a line opens, "" if it does not.
func opens(line string) string {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		fence := line[:len(line)-len(rest)]
		if len(fence) >= 3 && (mark == "~" || !strings.Contains(rest, mark)) {
			return fence
		}
	}
	return ""
}

// closes says whether a line closes a fence.
func closes(line, fence string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}
