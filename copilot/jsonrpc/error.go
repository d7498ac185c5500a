package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The codes that JSON-RPC itself defines. Those from -32000 to -32099 are the dialects'.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeBusy           = -32000 // of [Options.Busy], unless the dialect has its own
)

// Why a peer could not do what it was asked for.
var (
	ErrGone    = errors.New("jsonrpc: the peer is gone")
	ErrClosed  = errors.New("jsonrpc: the connection is closed")
	ErrInOrder = errors.New("jsonrpc: a method that is handled in order cannot wait for an answer, which would have to be read behind it")
	ErrStuck   = errors.New("jsonrpc: the peer did not read in time")
)

// Error is an error as it stands on the wire: what a handler refuses with, and what a call was refused with.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"` // what this package refuses has a text here, or nothing
}

// Error tells the code and both texts.
func (e *Error) Error() string {
	if e.Data == nil {
		return fmt.Sprintf("%s (%d)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d): %v", e.Message, e.Code, e.Data)
}

// Errorf makes an error whose data is a text.
func Errorf(code int, message, format string, args ...any) *Error {
	return &Error{Code: code, Message: message, Data: fmt.Sprintf(format, args...)}
}

// InvalidRequest says what is wrong with a request.
func InvalidRequest(format string, args ...any) *Error {
	return Errorf(CodeInvalidRequest, "Invalid Request", format, args...)
}

// MethodNotFound says that there is no such method.
func MethodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "Method not found", "there is no method %q", method)
}

// InvalidParams says what is wrong with the parameters.
func InvalidParams(format string, args ...any) *Error {
	return Errorf(CodeInvalidParams, "Invalid params", format, args...)
}

// Internal is an error that says nothing of its cause, which belongs in the log.
func Internal() *Error { return &Error{Code: CodeInternal, Message: "Internal error"} }

func parseError(err error) *Error { return Errorf(CodeParse, "Parse error", "%v", err) }

// received makes an error of what a peer sent as one, even if it is none.
func received(raw json.RawMessage) *Error {
	var e *Error
	if json.Unmarshal(raw, &e) != nil || e == nil {
		return &Error{Code: CodeInternal, Message: "the peer sent an error of another form", Data: string(raw)}
	}
	return e
}
