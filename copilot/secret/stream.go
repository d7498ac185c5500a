package secret

import "strings"

// Stream masks text that arrives in pieces. The pieces that it returns add up to the masked text, however the text was
// split. The zero value is ready to use, by one goroutine at a time.
type Stream struct {
	held   string  // may be the beginning of a credential
	before [3]byte // last bytes returned, the latest first
	tail   tail    // the credential that is being omitted
}

// Write takes the next piece and returns the text that is safe to show, possibly "". It holds back text that may become
// part of a credential: hardly ever more than a letter or two of prose, and always less than 300 bytes. A piece of
// which nothing is held back or masked is returned without a copy.
func (s *Stream) Write(delta string) (safe string) {
	text, parts := s.held+delta, make([]string, 0, 4)
	s.held = ""
	for text != "" {
		if s.tail != nil {
			text = s.skipCredential(text)
			continue
		}
		at, found := s.find(text)
		parts = append(parts, s.emit(text[:at]))
		text = text[at:]
		switch found.verdict {
		case maybe:
			s.held, text = text, ""
		case yes:
			parts = append(parts, s.emit(found.shown+Marker))
			s.tail, text = found.tail, text[found.length:]
		case no:
		}
	}
	return strings.Join(parts, "")
}

// Close ends the text and returns the held back rest, masked. The stream is then ready for another text.
func (s *Stream) Close() (rest string) {
	const end = "\x00" // belongs to no credential, so nothing before it is held back
	rest = strings.TrimSuffix(s.Write(end), end)
	*s = Stream{}
	return rest
}

// skipCredential omits the rest of a credential and returns the text after it, or "" if its end is not known yet.
func (s *Stream) skipCredential(text string) string {
	n, continues := s.tail(text)
	switch continues {
	case maybe:
		s.held = text[n:]
		return ""
	case no:
		s.tail = nil
	case yes:
	}
	return text[n:]
}

// emit remembers the last bytes of a piece that is returned.
func (s *Stream) emit(piece string) string {
	for i := max(0, len(piece)-len(s.before)); i < len(piece); i++ {
		s.before = [3]byte{piece[i], s.before[0], s.before[1]}
	}
	return piece
}

// find returns the first place where a credential begins or may begin, or the end of the text.
func (s *Stream) find(text string) (at int, found match) {
	for i := range len(text) {
		next := second(text[i])
		if next == "" || i+1 < len(text) && !contains(next, text[i+1]) || isAlnum(text[i]) && !s.canBegin(text, i) {
			continue
		}
		if m := credential(text[i:]); m.verdict != no {
			return i, m
		}
	}
	return len(text), match{}
}

// canBegin reports whether a word can begin at i: not within another word, but after characters that only look like
// letters, such as \n in quotes, %3D in a URL and the m that ends a terminal color.
func (s *Stream) canBegin(text string, i int) bool {
	last := s.byteBefore(text, i, 1)
	if !isAlnum(last) {
		return true
	}
	switch before := s.byteBefore(text, i, 2); last {
	case 'n', 't', 'r':
		return before == '\\'
	case 'm':
		return before == '[' || isDigit(before)
	default:
		return s.byteBefore(text, i, 3) == '%' && isHex(before) && isHex(last)
	}
}

// byteBefore returns the byte n places before i, or 0 before the beginning of the text. n is at most 3.
func (s *Stream) byteBefore(text string, i, n int) byte {
	if n <= i {
		return text[i-n]
	}
	return s.before[n-i-1]
}
