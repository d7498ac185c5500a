package operation

import (
	"strings"
	"unicode/utf8"
)

// MaxContent is how long the content of a message is at most, in bytes. The
// contract's 10 KB can be read in two ways; this is the shorter.
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

// splitter makes messages of a Markdown text that comes in pieces: each line as
// soon as it is complete, but what would mean nothing line by line, code in fences
// and tables, as a whole. Nothing but blank lines is left out.
type splitter struct {
	line    []byte // the one that has no end yet
	goes    bool   // a part of it has been told already
	block   strings.Builder
	fence   string // that is open in the block; "" in a table
	outside bool   // fences mean nothing: every line goes alone
}

// write takes what follows and gives what can be told now.
func (s *splitter) write(text string) (told []string) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for text != "" {
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			return append(told, s.begin(text)...)
		}
		told = append(told, s.begin(text[:end+1])...)
		if len(s.line) > 0 {
			told = append(told, s.end()...)
		}
		text = text[end+1:]
	}
	return told
}

// finish gives what is left at the end of the text.
func (s *splitter) finish() (told []string) {
	told = append(s.end(), s.flush()...)
	s.fence, s.goes = "", false
	return told
}

// begin goes on with the line, of which it tells a part if it becomes too long.
func (s *splitter) begin(text string) (told []string) {
	s.line = append(s.line, text...)
	if len(s.line) <= MaxContent {
		return nil
	}
	told = s.flush()
	parts := pieces(string(s.line))
	last := len(parts) - 1
	for _, part := range parts[:last] {
		told = keepUnlessBlank(told, part)
	}
	s.line, s.goes = []byte(parts[last]), true
	return told
}

// end takes the line as complete.
func (s *splitter) end() (told []string) {
	line, goes := string(s.line), s.goes
	s.line, s.goes = s.line[:0], false
	switch {
	case goes && s.fence == "":
		return keepUnlessBlank(nil, line)
	case s.fence != "":
		told = s.add(line)
		if !goes && closes(line, s.fence) {
			told, s.fence = append(told, s.flush()...), ""
		}
		return told
	case s.outside:
	case opens(line) != "":
		told = append(s.flush(), s.add(line)...)
		s.fence = opens(line)
		return told
	case strings.HasPrefix(strings.TrimSpace(line), "|"):
		return s.add(line)
	}
	return keepUnlessBlank(s.flush(), line)
}

// add puts a line into the block, after telling that if it would become too long.
func (s *splitter) add(line string) (told []string) {
	if s.block.Len()+len(line) > MaxContent {
		told = s.flush()
	}
	s.block.WriteString(line)
	return told
}

// flush tells the block as far as it goes.
func (s *splitter) flush() []string {
	block := s.block.String()
	s.block.Reset()
	return keepUnlessBlank(nil, block)
}

// keepUnlessBlank adds a text without its line end.
func keepUnlessBlank(list []string, text string) []string {
	if strings.TrimSpace(text) == "" {
		return list
	}
	return append(list, strings.TrimRight(text, " \t\r\n"))
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
