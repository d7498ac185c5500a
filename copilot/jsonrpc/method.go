package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// Methods are what a peer can be asked for, by name. They must not be changed once they are in use. A request for any other
// is refused, a notification ignored.
type Methods map[string]Method

// Method is how requests and notifications of one name are handled.
type Method struct {
	// Handle returns the result, which becomes JSON, or an error, see [Options.Fault]. What it returns for a notification
	// is dropped. The context ends with the connection, or with the HTTP request.
	Handle func(ctx context.Context, r *Request) (any, error)
	// InOrder has it handled before anything behind it is read. It must not wait.
	InOrder bool
	// Begin stands in place of Handle where requests take long and their order counts all the same: it is called as a method
	// that is in order, and what it returns does the rest as Handle does.
	Begin func(ctx context.Context, r *Request) (rest func(context.Context) (any, error), err error)
}

// A caller calls methods and makes responses of what they return.
type caller struct {
	methods Methods
	options Options
	workers *workers
}

// handle answers a request, at once if the method is in order.
func (c *caller) handle(ctx context.Context, r *Request, respond func([]byte, []func())) {
	method, known := c.methods[r.Method]
	switch {
	case !known:
		respond(c.refuse(r, MethodNotFound(r.Method)), nil)
	case method.InOrder:
		ctx, over := withReadLoop(ctx, r.Peer)
		response := c.call(ctx, method, r)
		over()
		respond(response, r.after)
	case method.Begin != nil:
		c.begin(ctx, method, r, respond)
	case !c.workers.do(func() { respond(c.call(ctx, method, r), r.after) }):
		respond(c.refuse(r, c.options.Busy), nil)
	}
}

// begin answers a request in two steps. It is sure of the second before the first is done.
func (c *caller) begin(ctx context.Context, method Method, r *Request, respond func([]byte, []func())) {
	begun := make(chan Method, 1)
	if !c.workers.do(func() { respond(c.call(ctx, <-begun, r), r.after) }) {
		respond(c.refuse(r, c.options.Busy), nil)
		return
	}
	first, over := withReadLoop(ctx, r.Peer)
	defer over()
	rest, err := attemptBegin(first, method, r)
	begun <- Method{Handle: func(ctx context.Context, _ *Request) (any, error) {
		if err != nil {
			return nil, err
		}
		return rest(ctx)
	}}
}

// attemptBegin makes an error of a panic.
func attemptBegin(ctx context.Context, method Method, r *Request) (rest func(context.Context) (any, error), err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return method.Begin(ctx, r)
}

// refuse makes the response of a request that is not handled.
func (c *caller) refuse(r *Request, err *Error) []byte {
	if r.IsNotification() {
		c.options.Log.Debug("a notification was ignored", "method", r.Method, "reason", err)
		return nil
	}
	return encodeError(r.ID, err)
}

// call makes the response of a method, nil for a notification.
func (c *caller) call(ctx context.Context, method Method, r *Request) []byte {
	result, err := attempt(ctx, method, r)
	if err != nil {
		r.after = nil
		fault := c.fault(ctx, r, err)
		return c.refuse(r, fault)
	}
	if r.IsNotification() {
		return nil
	}
	return encodeResult(r.ID, result)
}

// attempt returns the encoded result. A panic, of the handler or of the encoding, becomes an error.
func attempt(ctx context.Context, method Method, r *Request) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	value, err := method.Handle(ctx, r)
	if err != nil || r.IsNotification() {
		return nil, err
	}
	return encode(value)
}

// fault makes an error for the wire. The text of one that nobody knows is logged, not shown.
func (c *caller) fault(ctx context.Context, r *Request, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e
	}
	if c.options.Fault != nil {
		if e := c.options.Fault(err); e != nil {
			return e
		}
	}
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) { // an end of the context is no fault
		c.options.Log.Error("a request failed", "method", r.Method, "error", err)
	}
	return Internal()
}

// do keeps a panic from ending the process.
func (c *caller) do(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.options.Log.Error("what was to be done after a response, or last, failed", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}
