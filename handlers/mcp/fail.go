package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs"
)

// internalError is the text of errors that must not be shown.
const internalError = "internal error; see the portal's log"

// errorNames returns the names of errors (spec/mcp.md, "Errors"), those of single errors before those of kinds.
func errorNames() []struct {
	err  error
	name string
} {
	return []struct {
		err  error
		name string
	}{
		{fault.ErrSessionNotFound, "session_not_found"},
		{fault.ErrSessionClosed, "session_closed"},
		{fault.ErrSessionInUse, "session_in_use"},
		{fault.ErrRunNotFound, "run_not_found"},
		{fault.ErrQuestionNotFound, "question_not_found"},
		{fault.ErrAlreadyAnswered, "already_answered"},
		{fault.ErrModelNotFound, "model_not_found"},
		{fault.ErrDirectoryNotAbsolute, "directory_not_absolute"},
		{fault.ErrDirectoryNotFound, "directory_not_found"},
		{jobs.ErrJobNotFound, "job_not_found"},
		{jobs.ErrJobClosed, "job_ended"},
		{errTooDeep, "too_deep"},
	}
}

// nameOf returns the name of an error.
func nameOf(err error) string {
	for _, known := range errorNames() {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	switch fault.KindOf(err) {
	case fault.NotFound:
		return "not_found"
	case fault.Busy:
		return "busy"
	case fault.Invalid:
		return "invalid"
	case fault.Denied:
		return "denied"
	case fault.Unavailable:
		return "unavailable"
	case fault.Unauthenticated:
		return "unauthenticated"
	case fault.Timeout:
		return "timeout"
	case fault.Internal:
	}
	return "internal"
}

// toolError returns the error that the result of a tool shows: its name and its text.
func (a *API) toolError(where string, err error) error {
	return fmt.Errorf("%s: %s", nameOf(err), a.text(where, err))
}

// protocolError returns the JSON-RPC error of a request that is no call of a tool.
func (a *API) protocolError(where string, err error) error {
	code := int64(jsonrpc.CodeInternalError)
	switch fault.KindOf(err) {
	case fault.NotFound:
		code = sdk.CodeResourceNotFound
	case fault.Invalid:
		code = jsonrpc.CodeInvalidParams
	case fault.Busy, fault.Denied, fault.Unavailable, fault.Unauthenticated, fault.Timeout, fault.Internal:
	}
	return &jsonrpc.Error{Code: code, Message: nameOf(err) + ": " + a.text(where, err)}
}

// text returns the text of an error for clients. It logs one that must not be shown.
func (a *API) text(where string, err error) string {
	if known := fault.Public(err); known != nil {
		return known.Text
	}
	if errors.Is(err, context.Canceled) {
		return "the call was cancelled"
	}
	a.options.Log.Error("a call failed", "method", where, "err", err)
	return internalError
}
