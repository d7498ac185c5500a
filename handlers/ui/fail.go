package ui

import (
	"errors"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// The codes of spec/contracts/ui-protocol.md, "9. Error codes", of its notes, and the portal's own.
const (
	codeBusy        = -32001
	codeRun         = -32002
	codeDeclined    = -32003
	codeSession     = -32004
	codeUnavailable = -32005
)

// RPCError returns an error as the dialect sends it. Its message is the text for people,
// since UIs show that. It returns nil for errors that clients must not see.
func RPCError(err error) *jsonrpc.Error {
	known := fault.Public(err)
	if known == nil {
		return nil
	}
	code := jsonrpc.CodeInvalidParams // not found, invalid, denied
	switch {
	case errors.Is(err, fault.ErrSessionNotFound), errors.Is(err, fault.ErrSessionClosed):
		code = codeSession
	case errors.Is(err, fault.ErrRunNotFound):
		code = codeRun
	case known.Kind == fault.Busy:
		code = codeBusy
	case known.Kind == fault.Unavailable, known.Kind == fault.Unauthenticated, known.Kind == fault.Timeout:
		code = codeUnavailable
	}
	return &jsonrpc.Error{Code: code, Message: strings.TrimSpace(known.Text)}
}
