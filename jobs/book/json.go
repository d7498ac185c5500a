package book

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// isJSON reports whether a file is JSON rather than YAML. Most JSON is valid YAML, but the YAML library
// rejects tabs and does not decode surrogate pairs.
func isJSON(name string, data []byte) bool {
	return strings.HasSuffix(strings.ToLower(name), ".json") || json.Valid(data)
}

func readJSON(data []byte) (*value, *Fault) {
	r := &jsonReader{data: data, line: 1, decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	v, err := r.value()
	if err == nil {
		if _, err = r.token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		err = errors.New("is not JSON: there is text after the end")
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("is not JSON: unexpected end")
	}
	return nil, &Fault{Line: r.line, Text: err.Error()}
}

// jsonReader reads tokens and tracks their lines.
type jsonReader struct {
	limitCounter
	data    []byte
	decoder *json.Decoder
	counted int // bytes whose lines are already counted
	line    int
}

func (r *jsonReader) token() (json.Token, error) {
	token, err := r.decoder.Token()
	r.count(int(r.decoder.InputOffset()))
	if err == nil {
		return token, nil
	}
	at := len(r.data)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	r.count(at)
	return nil, fmt.Errorf("is not JSON: %w", err)
}

func (r *jsonReader) count(to int) {
	if to = min(to, len(r.data)); to > r.counted {
		r.line += bytes.Count(r.data[r.counted:to], []byte("\n"))
		r.counted = to
	}
}

func (r *jsonReader) value() (*value, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	v := &value{shape: null, line: r.line}
	switch token := token.(type) {
	case json.Delim:
		return v, r.parts(v, token)
	case string:
		v.shape, v.text = text, token
	case json.Number:
		v.shape, v.text = number, token.String()
	case bool:
		v.shape, v.text = flag, fmt.Sprint(token)
	}
	return v, nil
}

func (r *jsonReader) parts(v *value, begin json.Delim) error {
	v.shape = list
	if begin == '{' {
		v.shape = object
	}
	for r.decoder.More() {
		var p part
		if v.shape == object {
			key, err := r.token()
			if err != nil {
				return err
			}
			p.key = fmt.Sprint(key)
		}
		read, err := r.value()
		if err != nil {
			return err
		}
		p.line, p.value = read.line, read
		v.parts = append(v.parts, p)
	}
	_, err := r.token()
	return err
}
