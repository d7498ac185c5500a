package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// bom is a byte order mark, which some editors and shells write first.
const bom = "\uFEFF"

// message is one decoded message. Exactly one of its members is set.
type message struct {
	request *Request
	answer  *answer
	refusal *refusal
}

// answer is the answer to an outgoing call.
type answer struct {
	id     json.RawMessage
	result json.RawMessage
	err    error
}

// refusal says why a message is invalid.
type refusal struct {
	id  json.RawMessage // nil if it could not be decoded
	err *Error
}

// strip removes everything that may surround a message.
func strip(raw []byte) []byte {
	return bytes.Trim(bytes.TrimPrefix(raw, []byte(bom)), " \t\r\n")
}

// decode decodes a message, or a batch of at most most messages. It keeps nothing of raw.
func decode(raw []byte, most int) (messages []message, batch bool) {
	raw = strip(raw)
	switch {
	case !utf8.Valid(raw):
		return one(refuse(nil, parseError(errors.New("the message is not valid UTF-8")))), false
	case len(raw) > 0 && raw[0] == '[':
		return decodeBatch(raw, most)
	}
	return one(decodeOne(raw)), false
}

func one(m message) []message { return []message{m} }

// decodeBatch decodes a batch. A batch that is refused as a whole gets one response.
func decodeBatch(raw []byte, most int) (messages []message, batch bool) {
	var parts []json.RawMessage
	err := json.Unmarshal(raw, &parts)
	switch {
	case err != nil:
		return one(refuse(nil, parseError(err))), false
	case len(parts) == 0:
		return one(refuse(nil, InvalidRequest("the batch is empty"))), false
	case len(parts) > most:
		return one(refuse(nil, InvalidRequest("the batch has %d messages, %d are allowed", len(parts), most))), false
	}
	for _, part := range parts {
		messages = append(messages, decodeOne(part))
	}
	return messages, true
}

// decodeOne decodes one message. It uses a map because encoding/json ignores the case of struct members.
func decodeOne(raw []byte) message {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		if _, other := errors.AsType[*json.UnmarshalTypeError](err); other {
			return invalid(nil, "a message is an object")
		}
		return refuse(nil, parseError(err))
	}
	_, call := members["method"]
	if _, result := members["result"]; !call && (result || members["error"] != nil) {
		return message{answer: toAnswer(members)}
	}
	return toRequest(members)
}

func toAnswer(members map[string]json.RawMessage) *answer {
	a := &answer{id: members["id"], result: members["result"]}
	if e := members["error"]; e != nil && (string(e) != null || a.result == nil) {
		a.err = received(e)
	}
	return a
}

func toRequest(members map[string]json.RawMessage) message {
	id, params := members["id"], members["params"]
	if id != nil && !isID(id) {
		return invalid(nil, "the id must be a string, a number or null")
	}
	version, _ := text(members["jsonrpc"])
	if version != "2.0" {
		return invalid(id, `"jsonrpc" must be "2.0"`)
	}
	method, ok := text(members["method"])
	if !ok {
		return invalid(id, `"method" must be a string`)
	}
	if string(params) == null {
		params = nil
	}
	if params != nil && params[0] != '{' && params[0] != '[' {
		return invalid(id, `"params" must be an object or an array`)
	}
	return message{request: &Request{ID: id, Method: method, Params: params}}
}

func refuse(id json.RawMessage, err *Error) message {
	return message{refusal: &refusal{id: id, err: err}}
}

func invalid(id json.RawMessage, text string) message { return refuse(id, InvalidRequest("%s", text)) }

// isID reports whether a valid JSON value can be an id.
func isID(raw json.RawMessage) bool {
	c := raw[0]
	return c == '"' || c == '-' || '0' <= c && c <= '9' || string(raw) == null
}

// text returns the value if it is a string.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}
