// Package jsonrpc is a peer of JSON-RPC 2.0 for every dialect that speaks it: on standard streams, on a WebSocket and
// over HTTP. It knows nothing of what is said.
//
// # Connections
//
// A [Peer] is one end of a connection. Both ends may call ([Peer.Call]), be called ([Methods]) and notify ([Peer.Notify]).
// What carries the messages is a [Carrier]: [Lines] for one message a line, [Frames] for one a frame.
//
//	methods := jsonrpc.Methods{"echo": {Handle: func(_ context.Context, r *jsonrpc.Request) (any, error) { return r.Params, nil }}}
//	peer := jsonrpc.New(jsonrpc.NewLines(in, out, jsonrpc.LineOptions{}), methods, jsonrpc.Options{})
//	err := peer.Run(ctx)
//
// # Order
//
// One goroutine reads, one writes. What is sent waits in one queue, so it goes out in the order in which it was queued:
// a notification that a handler sends goes out before the response of that handler.
//
//   - A method that is [Method.InOrder] is handled by the goroutine that reads: it has taken effect before the next message
//     is looked at. It must not wait for anything: everything behind it would, even what cancels. [Peer.Call] therefore
//     refuses to be used there.
//   - All other methods are handled concurrently, at most [Options.Concurrent] at a time; the next [Options.Waiting] wait, in
//     their order, and what comes then is refused with [Options.Busy]. Reading goes on meanwhile.
//   - [Method.Begin] is for what takes long and must be begun in order: its first step is in order, its second concurrent.
//   - What must come after the response (the events of a run that was started) is given to [Request.After]: it begins when
//     the response is in the queue, on a goroutine of its own, so it may wait.
//   - The responses of a batch go out together, in the order of their requests, when the last one is there.
//
// # Slow peers
//
// A producer waits in [Peer.Notify] while [Options.Queue] bytes are unsent. Responses do not wait, so a peer that
// does not read can still cancel what it has begun. Only when [Options.Unread] bytes are unsent is the peer not read any more,
// until it reads. [Options.WriteTimeout] gives up a peer that does not read at all.
//
// # Ends
//
// At the end of what the peer says, or after [Peer.Stop], everything that was read is answered and written before [Peer.Run]
// returns; calls of ours that have no answer yet fail with [ErrGone]. When its context ends, after [Peer.Close], and when
// the carrier fails, nothing more is written. Either way the context of all handlers has ended, the carrier is closed, and
// no goroutine is left, unless it does not heed these within [Options.Grace]: a read from a terminal cannot be interrupted.
//
// # Faults
//
// An id is echoed byte by byte. What is no JSON, no UTF-8, or longer than its carrier allows is answered with -32700 and the id
// null, and reading goes on; of a message that is too long nothing is kept, so its id is not known. Names of members are
// compared exactly, and "params": null counts as absent. Anything with a result or an error and without a method is an
// answer and never answered, or two peers could refuse each other's refusals for ever. What a handler panics with is
// logged and becomes the error -32603 of its request; so does an error that is no [Error] and that [Options.Fault] does
// not know.
//
// Two requests in flight may have the same id; each gets its answer.
package jsonrpc
