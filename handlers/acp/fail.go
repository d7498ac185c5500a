package acp

import (
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// The codes of the protocol's schema (ErrorCode).
const (
	codeSignIn   = -32000 // authentication is required
	codeNotFound = -32002
)

// rpcError returns an error as the dialect sends it. Its message is the text for people, since editors show that. It returns nil for
// errors that clients must not see.
func rpcError(err error) *jsonrpc.Error {
	known := fault.Public(err)
	if known == nil {
		return nil
	}
	code := jsonrpc.CodeInternal // busy, unavailable, denied, timeout: the protocol has no codes for them
	switch known.Kind {
	case fault.NotFound:
		code = codeNotFound
	case fault.Invalid:
		code = jsonrpc.CodeInvalidParams
	case fault.Unauthenticated:
		code = codeSignIn
	case fault.Busy, fault.Denied, fault.Unavailable, fault.Timeout, fault.Internal:
	}
	return &jsonrpc.Error{Code: code, Message: strings.TrimSpace(known.Text)}
}
