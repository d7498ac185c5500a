package secret

import "strings"

// Stream masks text that comes in pieces. The pieces that it returns add up to
// the masked whole, wherever the text was cut. The zero value is ready for use,
// by one goroutine at a time.
type Stream struct {
	held   string  // may yet be the beginning of a credential
	before [3]byte // the last bytes that were returned, the latest first
	tail   tail    // what is being left out
}

// Write takes the next piece and returns what is safe to show, which may be "":
// what can still become part of a credential is held back. Of prose that is
// hardly ever more than a letter or two, of anything less than 300 bytes. A piece
// of which nothing has to be held back or masked is returned without a copy.
func (s *Stream) Write(delta string) (safe string) {
	text, parts := s.held+delta, make([]string, 0, 4)
	s.held = ""
	for text != "" {
		if s.tail != nil {
			text = s.skipCredential(text)
			continue
		}
		at, found := s.find(text)
		parts = append(parts, s.emitPiece(text[:at]))
		text = text[at:]
		switch found.verdict {
		case maybe:
			s.held, text = text, ""
		case yes:
			parts = append(parts, s.emitPiece(found.shown+Marker))
			s.tail, text = found.tail, text[found.length:]
		case no:
		}
	}
	return strings.Join(parts, "")
}

// Close ends the text and returns what was held back of it, masked like the
// rest. The stream is ready for another text then.
func (s *Stream) Close() (rest string) {
	const end = "\x00" // is part of no credential, so that nothing can be held back before it
	rest = strings.TrimSuffix(s.Write(end), end)
	*s = Stream{}
	return rest
}

// skipCredential leaves out what belongs to the credential that was found and returns what
// comes after it, "" if that is not known yet.
func (s *Stream) skipCredential(text string) string {
	n, goesOn := s.tail(text)
	switch goesOn {
	case maybe:
		s.held = text[n:]
		return ""
	case no:
		s.tail = nil
	case yes:
	}
	return text[n:]
}

// emitPiece notes the end of a piece that is returned.
func (s *Stream) emitPiece(piece string) string {
	for i := max(0, len(piece)-len(s.before)); i < len(piece); i++ {
		s.before = [3]byte{piece[i], s.before[0], s.before[1]}
	}
	return piece
}

// find looks for the first place where a credential begins, or may begin: the end
// of the text if there is none.
func (s *Stream) find(text string) (at int, found match) {
	for i := range len(text) {
		next := second(text[i])
		if next == "" || i+1 < len(text) && !contains(next, text[i+1]) || isAlnum(text[i]) && !s.opens(text, i) {
			continue
		}
		if m := credential(text[i:]); m.verdict != no {
			return i, m
		}
	}
	return len(text), match{}
}

// opens says whether a word can begin at i: not within another one, but after
// what only looks like its letters, as \n in quotes, %3D in a URL and the m that
// ends a colour of a terminal.
func (s *Stream) opens(text string, i int) bool {
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

// byteBefore returns the byte n places before i, 0 before the beginning of all. n is 3
// at most.
func (s *Stream) byteBefore(text string, i, n int) byte {
	if n <= i {
		return text[i-n]
	}
	return s.before[n-i-1]
}
