package jsonrpc

import "encoding/json"

// Request is a request or a notification that came in.
type Request struct {
	ID     json.RawMessage // as it came; nil for a notification
	Method string
	Params json.RawMessage // as they came: an object, an array, or nil
	Peer   *Peer           // where it came from; nil over HTTP

	after []func()
}

// IsNotification says that nobody waits for an answer.
func (r *Request) IsNotification() bool { return r.ID == nil }

// After has something done when the response to this request is in the queue, so that whatever it sends goes out after it.
// It is done on another goroutine and may wait, but must end with the context of the handler. It is not done if the
// handler fails. Only the handler may call this, before it returns; several are done one after another.
//
// Over HTTP it is done by the handler of the HTTP request, after the body was written.
func (r *Request) After(f func()) { r.after = append(r.after, f) }

// Decode reads the parameters into v, a pointer. Without parameters v stays as it is; members that v does not know are
// ignored. Its error is an [Error] that says which member is wrong.
func (r *Request) Decode(v any) error {
	if r.Params == nil {
		return nil
	}
	if err := json.Unmarshal(r.Params, v); err != nil {
		return InvalidParams("%s", Explain(err, "params"))
	}
	return nil
}
