package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Codes defined by JSON-RPC. The dialects define those from -32000 to -32099.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Errors of a peer.
var (
	ErrGone    = errors.New("jsonrpc: the peer is gone")
	ErrClosed  = errors.New("jsonrpc: the connection is closed")
	ErrInOrder = errors.New("jsonrpc: a method that is handled in order cannot wait for an answer, because it blocks reading")
	ErrStuck   = errors.New("jsonrpc: the peer did not read in time")
)

// Error is an error as sent on the wire: returned by a handler, or by a call that was refused.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"` // a string or nothing for errors of this package
}

// Error returns the message, the code and the data.
func (e *Error) Error() string {
	if e.Data == nil {
		return fmt.Sprintf("%s (%d)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d): %v", e.Message, e.Code, e.Data)
}

// Explained returns the error with the text of its data, if there is one, in the message, too.
func (e *Error) Explained() *Error {
	if text, ok := e.Data.(string); ok {
		return &Error{Code: e.Code, Message: e.Message + ": " + text, Data: text}
	}
	return e
}

// Errorf returns an error with text data.
func Errorf(code int, message, format string, args ...any) *Error {
	return &Error{Code: code, Message: message, Data: fmt.Sprintf(format, args...)}
}

// InvalidRequest returns an error that says what is wrong with a request.
func InvalidRequest(format string, args ...any) *Error {
	return Errorf(CodeInvalidRequest, "Invalid Request", format, args...)
}

// MethodNotFound returns an error that names the unknown method.
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "Method not found", "there is no method %q", method)
}

// InvalidParams returns an error that says what is wrong with the parameters.
func InvalidParams(format string, args ...any) *Error {
	return Errorf(CodeInvalidParams, "Invalid params", format, args...)
}

// Internal returns an error without the cause, which belongs in the log.
func Internal() *Error { return &Error{Code: CodeInternal, Message: "Internal error"} }

func parseError(err error) *Error { return Errorf(CodeParse, "Parse error", "%v", err) }

// received decodes an error that a peer sent, or describes it if it is malformed.
func received(raw json.RawMessage) *Error {
	var e *Error
	if json.Unmarshal(raw, &e) != nil || e == nil {
		return &Error{Code: CodeInternal, Message: "the peer sent an error of another form", Data: string(raw)}
	}
	return e
}
