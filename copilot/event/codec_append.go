package event

import "unicode/utf8"

// textBody is an id with a text: the body of nearly all events.
type textBody struct{ ID, Text string }

// textOf returns the name and the body of a delta or of a complete text, or "" for other bodies.
func textOf(b Body) (name string, text textBody) {
	switch b := b.(type) {
	case MessageDelta:
		return nameMessageDelta, textBody(b)
	case ReasoningDelta:
		return nameReasoningDelta, textBody(b)
	case ToolOutput:
		return nameToolOutput, textBody(b)
	case MessageEnded:
		if !b.Cut {
			return nameMessageEnded, textBody{b.ID, b.Text}
		}
	case ReasoningEnded:
		if !b.Cut {
			return nameReasoningEnded, textBody{b.ID, b.Text}
		}
	}
	return "", textBody{}
}

// newLine returns a buffer with capacity for the head of an event and a body of n bytes with few escapes.
func newLine(n int) []byte { return make([]byte, 0, 200+n+n/16) }

// encodedStart is what precedes the name of the kind in an encoded event.
const encodedStart = `{"v":1,"type":"`

// appendHead appends everything before the body. It fails for a year of more than four digits.
func appendHead(b []byte, name string, e Event) (_ []byte, err error) {
	b = append(b, encodedStart...)
	b = append(append(b, name...), '"')
	if !e.Time.IsZero() {
		if b, err = formatUTC(e.Time).AppendText(append(b, `,"time":"`...)); err != nil {
			return nil, err
		}
		b = append(b, '"')
	}
	if e.Run != "" {
		b = appendText(append(b, `,"run":`...), e.Run)
	}
	if e.Agent != "" {
		b = appendText(append(b, `,"agent":`...), e.Agent)
	}
	return b, nil
}

// appendTextBody appends the body of a text as encoding/json does.
func appendTextBody(b []byte, s textBody) []byte {
	if s == (textBody{}) {
		return b
	}
	b = append(b, `,"body":{`...)
	if s.ID != "" {
		b = appendText(append(b, `"id":`...), s.ID)
	}
	if s.ID != "" && s.Text != "" {
		b = append(b, ',')
	}
	if s.Text != "" {
		b = appendText(append(b, `"text":`...), s.Text)
	}
	return append(b, '}')
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0 // everything before it is in b
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		if c < utf8.RuneSelf || c == utf8.RuneError || c == '\u2028' || c == '\u2029' { // the last two end lines in JavaScript
			b = appendEscaped(append(b, s[done:i]...), c)
			done = i + size
		}
		i += size
	}
	return append(append(b, s[done:]...), '"')
}

func appendEscaped(b []byte, c rune) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', byte(c))
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case utf8.RuneError:
		return utf8.AppendRune(b, c)
	}
	return append(b, '\\', 'u', hex[c>>12&15], hex[c>>8&15], hex[c>>4&15], hex[c&15])
}
