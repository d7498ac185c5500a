package jsonrpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// null is the id of a response to a message without an id.
const null = "null"

// Notification is an encoded notification, which can be sent to any number of peers.
type Notification []byte

// NewNotification encodes a notification. Params must become an object or an array, or be nil.
func NewNotification(method string, params any) (Notification, error) {
	raw, err := encodeCall(nil, method, params)
	return raw, err
}

// encodeCall encodes a request, or a notification if there is no id.
func encodeCall(id json.RawMessage, method string, params any) ([]byte, error) {
	name, _ := Encode(method) // encoding a string never fails
	b := begin(id, len(name)+32)
	b = append(append(b, `,"method":`...), name...)
	if params != nil {
		args, err := Encode(params)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"params":`...), args...)
	}
	return append(b, '}'), nil
}

// encodeResult encodes the response to a request.
func encodeResult(id json.RawMessage, result []byte) []byte {
	b := begin(id, len(result)+16)
	return append(append(append(b, `,"result":`...), result...), '}')
}

// encodeError encodes the response to a request that failed. It omits data that cannot be encoded.
func encodeError(id json.RawMessage, e *Error) []byte {
	text, err := Encode(e)
	if err != nil {
		text, _ = Encode(&Error{Code: e.Code, Message: e.Message})
	}
	if id == nil {
		id = json.RawMessage(null)
	}
	b := begin(id, len(text)+16)
	return append(append(append(b, `,"error":`...), text...), '}')
}

// begin returns the beginning of a message, with capacity for the rest.
func begin(id json.RawMessage, room int) []byte {
	b := make([]byte, 0, len(id)+room+32)
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	return b
}

// Encode encodes a value on one line, in valid UTF-8, without escapes for HTML.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !utf8.Valid(text) { // a json.RawMessage is copied unchanged
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text, nil
}
