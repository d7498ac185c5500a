// Package jsonrpc implements JSON-RPC 2.0 peers for every dialect that uses it: on standard streams, on WebSockets and
// over HTTP. It knows no methods of its own.
//
// # Connections
//
// A [Peer] is one end of a connection. Both ends may call ([Peer.Call]), be called ([Methods]) and notify
// ([Peer.Notify]). A [Carrier] carries the messages: [Lines] one per line, [Frames] one per frame.
//
//	methods := jsonrpc.Methods{"echo": {Handle: func(_ context.Context, r *jsonrpc.Request) (any, error) { return r.Params, nil }}}
//	peer := jsonrpc.New(jsonrpc.NewLines(in, out, jsonrpc.LineOptions{}), methods, jsonrpc.Options{})
//	err := peer.Run(ctx)
//
// # Order
//
// One goroutine reads and one writes. Outgoing messages share one queue, so they are sent in the order in which they
// were queued: a notification that a handler sends precedes the handler's response.
//
//   - A method with [Method.InOrder] is handled on the goroutine that reads, so it has taken effect before the next
//     message is handled. It must not wait: everything after it would wait, even a request to cancel. [Peer.Call]
//     therefore fails there.
//   - All other methods are handled concurrently, at most [Options.Concurrent] at a time. The next [Options.Waiting]
//     requests wait in order, and further ones are refused with [Options.Busy]. Reading continues meanwhile.
//   - [Method.Begin] is for methods that take long and must start in order: the first step is in order, the second
//     concurrent.
//   - Work that must follow the response (such as the events of a run that was started) is passed to
//     [Request.After]. It starts when the response is in the queue, on its own goroutine, so it may wait.
//   - The responses of a batch are sent together, in the order of their requests, when the last one is ready.
//
// # Slow peers
//
// A producer waits in [Peer.Notify] while [Options.Queue] bytes are unsent. Responses do not wait, so a peer that does
// not read can still cancel its requests. Only when [Options.Unread] bytes are unsent does reading from the peer pause
// until the peer reads. [Options.WriteTimeout] ends the connection to a peer that does not read at all.
//
// # Ends
//
// When the peer sends nothing more, or after [Peer.Stop], every message that was read is answered and written before
// [Peer.Run] returns; outgoing calls without an answer fail with [ErrGone]. When Run's context ends, after
// [Peer.Close], and when the carrier fails, nothing more is written. In all cases the contexts of the handlers have
// ended, the carrier is closed, and no goroutine is left, except those that do not stop within [Options.Grace]: a read
// from a terminal cannot be interrupted.
//
// # Errors
//
// Ids are echoed byte by byte. Invalid JSON, invalid UTF-8 and messages longer than the carrier allows are answered
// with -32700 and the id null, and reading continues; nothing is kept of a message that is too long, so its id is
// unknown. Member names are compared exactly, and "params": null counts as absent. A message with a result or an error
// and without a method is a response and never answered; otherwise two peers could refuse each other's refusals for
// ever. A panic in a handler is logged and becomes the error -32603 of its request, and so does an error that is not an
// [Error] and that [Options.Fault] does not know.
//
// Two requests in flight may have the same id; each gets its answer.
package jsonrpc
