package jsonrpc

import "encoding/json"

// Object returns JSON that is an object, for clients whose decoders require one. Without JSON the object is empty; any
// value that is not an object becomes its member "value".
func Object(raw json.RawMessage) any {
	var members map[string]json.RawMessage
	switch {
	case len(raw) == 0:
		return struct{}{}
	case json.Unmarshal(raw, &members) == nil && members != nil:
		return raw
	case json.Valid(raw):
		return map[string]json.RawMessage{"value": raw}
	}
	return map[string]string{"value": string(raw)}
}
