package jsonrpc

import "encoding/json"

// Request is an incoming request or notification.
type Request struct {
	ID     json.RawMessage // as received; nil for a notification
	Method string
	Params json.RawMessage // as received: an object, an array or nil
	Peer   *Peer           // the sender; nil over HTTP

	after []func()
}

// IsNotification reports whether no response is expected.
func (r *Request) IsNotification() bool { return r.ID == nil }

// After adds a function that runs when the response to this request is in the queue, so that everything it sends
// follows the response. It runs on another goroutine and may wait, but must end with the context of the handler. It
// does not run if the handler fails. Only the handler may call After, before it returns. Several functions run one
// after another.
//
// Over HTTP the handler of the HTTP request runs it, after it wrote the body.
func (r *Request) After(f func()) { r.after = append(r.after, f) }

// Decode decodes the parameters into v, a pointer. Without parameters v stays unchanged; unknown members are ignored.
// Its error is an [Error] that names the invalid member.
func (r *Request) Decode(v any) error {
	if r.Params == nil {
		return nil
	}
	if err := json.Unmarshal(r.Params, v); err != nil {
		return InvalidParams("%s", Explain(err, "params"))
	}
	return nil
}
