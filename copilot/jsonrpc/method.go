package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
)

// Methods maps names to methods. It must not be changed once in use.
type Methods map[string]Method

// Method defines how requests and notifications of one name are handled.
type Method struct {
	// Handle returns the result, which is encoded as JSON, or an error; see [Options.Fault]. The result of a
	// notification is dropped. The context ends with the connection, or with the HTTP request.
	Handle func(ctx context.Context, r *Request) (any, error)
	// InOrder methods are handled before the next message is read. They must not wait.
	InOrder bool
	// Begin replaces Handle for methods that take long and must start in order. It is called like an InOrder method,
	// and the function that it returns finishes the work like Handle.
	Begin func(ctx context.Context, r *Request) (rest func(context.Context) (any, error), err error)
}

// Typed returns a [Method.Handle] that decodes the parameters of a request for handle, which needs nothing else of it.
func Typed[P any](handle func(ctx context.Context, params P) (any, error)) func(context.Context, *Request) (any, error) {
	return func(ctx context.Context, r *Request) (any, error) {
		var p P
		if err := r.Decode(&p); err != nil {
			return nil, err
		}
		return handle(ctx, p)
	}
}

// caller calls methods and creates the responses.
type caller struct {
	methods Finder
	options Options
	workers *workers
}

// handle answers a request, synchronously if the method is in order.
func (c *caller) handle(ctx context.Context, r *Request, respond func([]byte, []func())) {
	method, refusal := c.find(ctx, r)
	switch {
	case refusal != nil:
		respond(c.refuse(r, refusal), nil)
	case method.InOrder:
		ctx, done := withReadLoop(ctx, r.Peer)
		response := c.call(ctx, method, r)
		done()
		respond(response, r.after)
	case method.Begin != nil:
		c.begin(ctx, method, r, respond)
	case !c.workers.do(func() { respond(c.call(ctx, method, r), r.after) }):
		respond(c.refuse(r, c.options.Busy), nil)
	}
}

// find returns the method of a request, or the error for a caller that may not call it.
func (c *caller) find(ctx context.Context, r *Request) (Method, *Error) {
	method, known := c.methods.Find(r.Method)
	if !known {
		return Method{}, MethodNotFound(r.Method)
	}
	if c.options.Admit != nil {
		if err := c.options.Admit(ctx, r.Method); err != nil {
			return Method{}, c.fault(ctx, r, err)
		}
	}
	return method, nil
}

// begin answers a request in two steps. It reserves a worker for the second before it runs the first.
func (c *caller) begin(ctx context.Context, method Method, r *Request, respond func([]byte, []func())) {
	begun := make(chan Method, 1)
	if !c.workers.do(func() { respond(c.call(ctx, <-begun, r), r.after) }) {
		respond(c.refuse(r, c.options.Busy), nil)
		return
	}
	first, done := withReadLoop(ctx, r.Peer)
	defer done()
	rest, err := attemptBegin(first, method, r)
	begun <- Method{Handle: func(ctx context.Context, _ *Request) (any, error) {
		if err != nil {
			return nil, err
		}
		return rest(ctx)
	}}
}

// attemptBegin calls Begin and returns a panic as an error.
func attemptBegin(ctx context.Context, method Method, r *Request) (rest func(context.Context) (any, error), err error) {
	defer recovered(&err)
	return method.Begin(ctx, r)
}

// recovered turns a panic of the function that defers it into its error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// refuse returns the response to a request that is not handled.
func (c *caller) refuse(r *Request, err *Error) []byte {
	if r.IsNotification() {
		c.options.Log.Debug("a notification was ignored", "method", r.Method, "reason", err)
		return nil
	}
	return c.encodeError(r.ID, err)
}

// encodeError encodes the response to a request that failed, or to a message that is none.
func (c *caller) encodeError(id json.RawMessage, err *Error) []byte {
	if c.options.Explain {
		err = err.Explained()
	}
	return encodeError(id, err)
}

// call returns the response of a method, or nil for a notification.
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

// attempt returns the encoded result. A panic of the handler or of the encoding becomes an error.
func attempt(ctx context.Context, method Method, r *Request) (result []byte, err error) {
	defer recovered(&err)
	value, err := method.Handle(ctx, r)
	if err != nil || r.IsNotification() {
		return nil, err
	}
	return Encode(value)
}

// fault returns the error to send. The text of an unknown error is logged, not sent.
func (c *caller) fault(ctx context.Context, r *Request, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e
	}
	if c.options.Fault != nil {
		if e := c.options.Fault(err); e != nil {
			return e
		}
	}
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) { // the end of the context is not a fault
		c.options.Log.Error("a request failed", "method", r.Method, "error", err)
	}
	return Internal()
}

// do runs f and logs a panic.
func (c *caller) do(f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.options.Log.Error("a function after a response, or the last one, failed", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f()
}
