package render

import "unicode/utf8"

// Change is how the HTML of a streamed text changes with a piece.
type Change struct {
	Append string // follows what was appended before
	Keep   int    // length of the start of the previous tail that stays, in UTF-16 units
	Tail   string // follows that start
}

// Change adds a piece like [Stream.Add], but returns only what is new in the tail, so that the size of all changes is
// proportional to the text: a paragraph of 60 KB would otherwise be sent again with every word. The previous tail
// is that of the previous call of Add or Change.
func (s *Stream) Change(piece string) Change {
	appended, next := s.add(piece)
	last := s.last
	s.last = next
	if appended != "" {
		return Change{Append: appended, Tail: next.start + next.end}
	}
	if last.start == next.start { // usually the same string, which costs nothing to compare
		same := samePrefix(last.end, next.end)
		return Change{Keep: s.startUnits(next.start) + Units(next.end[:same]), Tail: next.end[same:]}
	}
	same := samePrefix(last.start, next.start)
	return Change{Keep: Units(next.start[:same]), Tail: next.start[same:] + next.end}
}

// tail is the HTML of an incomplete block. While a long block grows, only the end changes.
type tail struct{ start, end string }

// startUnits returns the length of the start of a tail in UTF-16 units. It counts each start once.
func (s *Stream) startUnits(start string) int {
	if s.counted.html != start {
		s.counted.html, s.counted.units = start, Units(start)
	}
	return s.counted.units
}

// samePrefix returns the number of bytes, in whole runes, that two texts have in common at their start.
func samePrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			n = i
			break
		}
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	return n
}

// Units returns the length of a text in UTF-16 units.
func Units(text string) (n int) {
	for _, r := range text {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
