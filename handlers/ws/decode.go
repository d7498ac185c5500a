package ws

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/plain"
)

// decode reads a body that is one JSON object with known keys only. Error: kind [fault.Invalid], in terms of JSON.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if errors.Is(err, io.EOF) { // only whitespace
		return nil
	}
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return fault.Errorf(fault.Invalid, "the body must be one JSON object, with nothing behind it")
	}
	if key, unknown := unknownKey(err); unknown {
		return fault.Errorf(fault.Invalid, "the key %s is not known here", quote(key))
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.Errorf(fault.Invalid, "the body is not valid JSON")
	}
	return fault.Errorf(fault.Invalid, "%s", jsonrpc.Explain(err, "the body"))
}

// unknownKey returns the key that package json rejected. The package has no error type for this.
func unknownKey(err error) (key string, ok bool) {
	quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return "", false
	}
	key, err = strconv.Unquote(quoted)
	return key, err == nil
}

// quote returns a client's text for an error message: shortened, and without markup.
func quote(text string) string {
	const limit = 64
	quoted, _ := json.Marshal(plain.Cut(text, limit)) // escapes <, > and &, too; cannot fail
	return string(quoted)
}
