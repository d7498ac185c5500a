package secret

import (
	"bytes"
	"encoding/json"
	"iter"
)

// MaskJSON masks the strings of a JSON text, member names included, each on its own. Everything else stays unchanged,
// byte by byte. Invalid JSON is masked like any text.
func MaskJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	if !json.Valid(raw) {
		return json.RawMessage(Mask(string(raw)))
	}
	var out []byte
	from := 0 // everything before is in out
	for at, end := range literals(raw) {
		if masked, changed := maskLiteral(raw[at:end]); changed {
			out = append(append(out, raw[from:at]...), masked...)
			from = end
		}
	}
	if from == 0 {
		return raw
	}
	return append(out, raw[from:]...)
}

// literals yields the bounds of the strings of a valid JSON text, quotes included.
func literals(raw []byte) iter.Seq2[int, int] {
	return func(yield func(at, end int) bool) {
		for at := 0; at < len(raw); at++ {
			if raw[at] != '"' {
				continue
			}
			end := at + 1
			for raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			if !yield(at, end+1) {
				return
			}
			at = end
		}
	}
}

// maskLiteral masks a quoted string.
func maskLiteral(literal []byte) (masked []byte, changed bool) {
	var text string
	if err := json.Unmarshal(literal, &text); err != nil {
		return literal, false
	}
	safe := Mask(text)
	if safe == text {
		return literal, false
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(safe); err != nil {
		return literal, false
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), true
}
