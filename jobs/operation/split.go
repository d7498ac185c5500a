package operation

import (
	"strings"
	"unicode/utf8"
)

// MaxContent is the maximum length of a message's content, in bytes. "10KB" (spec/contracts/websocket.md,
// "Field Definitions") is ambiguous; this is the smaller reading.
const MaxContent = 10_000

// pieces splits a text that is too long for one message at line ends or, within long lines, between
// characters. It drops nothing.
func pieces(text string) []string {
	var list []string
	for len(text) > MaxContent {
		at := splitPoint(text)
		list, text = append(list, text[:at]), text[at:]
	}
	return append(list, text)
}

// splitPoint returns where the first piece of a long text ends.
func splitPoint(text string) int {
	if at := strings.LastIndexByte(text[:MaxContent], '\n') + 1; at > 0 {
		return at
	}
	at := MaxContent
	for at > MaxContent-utf8.UTFMax && !utf8.RuneStart(text[at]) {
		at--
	}
	if !utf8.RuneStart(text[at]) { // invalid UTF-8
		return MaxContent
	}
	return at
}

// textPart is a text to emit: a line, a block, or a part of one that is too long for a message.
type textPart struct {
	text   string
	extent extent
}

// extent is how much of a line or block a text is.
type extent int

const (
	whole     extent = iota
	continued        // the next part continues it without a separator
	last             // the last of several parts
)

// splitter splits a streamed Markdown text into messages. It emits each line as soon as it is complete, but
// fenced code and tables, which mean nothing line by line, as a whole. It drops only blank lines.
type splitter struct {
	line    []byte // the unfinished line
	more    bool   // part of the line was emitted
	block   strings.Builder
	cut     bool   // part of the block was emitted
	fence   string // the open fence of the block; "" in a table
	outside bool   // fences are ignored: every line is emitted alone
}

// write adds text and returns what can be emitted now.
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

// finish returns the rest at the end of the text.
func (s *splitter) finish() []textPart {
	list := append(s.end(), s.flush()...)
	s.fence, s.more = "", false
	return list
}

// begin appends to the line. It returns a part of it if it is too long.
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
	rest := len(parts) - 1
	for _, part := range parts[:rest] {
		list = append(list, textPart{part, continued})
	}
	s.line, s.more = []byte(parts[rest]), true
	return list
}

// end completes the line.
func (s *splitter) end() []textPart {
	line, more := string(s.line), s.more
	s.line, s.more = s.line[:0], false
	switch {
	case more && s.fence == "":
		return lastPart(line)
	case s.fence != "":
		list := s.add(line)
		if !more && closes(line, s.fence) {
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

// add appends a line to the block, and first emits the block if it would become too long.
func (s *splitter) add(line string) (list []textPart) {
	if s.block.Len()+len(line) > MaxContent {
		list = s.flushPart(nil)
	}
	s.block.WriteString(line)
	return list
}

// flushPart emits the block so far; the block continues.
func (s *splitter) flushPart(list []textPart) []textPart {
	if s.block.Len() > 0 {
		list, s.cut = append(list, textPart{s.block.String(), continued}), true
	}
	s.block.Reset()
	return list
}

// flush emits the block.
func (s *splitter) flush() []textPart {
	block, cut := s.block.String(), s.cut
	s.block.Reset()
	s.cut = false
	if cut {
		return lastPart(block)
	}
	return keepUnlessBlank(nil, block)
}

// lastPart returns the last of several parts of a line or block, without its line break.
func lastPart(text string) []textPart {
	if text = trimEnd(text); text == "" {
		return nil
	}
	return []textPart{{text, last}}
}

// trimEnd removes the line break, but no blanks, which belong to the text.
func trimEnd(text string) string { return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r") }

// keepUnlessBlank appends a text without its line break, unless it is blank.
func keepUnlessBlank(list []textPart, text string) []textPart {
	if strings.TrimSpace(text) == "" {
		return list
	}
	return append(list, textPart{trimEnd(text), whole})
}

// opens returns the fence that a line opens, or "".
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

// closes reports whether a line closes a fence.
func closes(line, fence string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(fence) && strings.Trim(line, fence[:1]) == ""
}
