package rpc

import (
	"errors"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// The codes beyond JSON-RPC and their names (spec/contracts/json-rpc-http.md, "Error Codes").
const (
	codeSession = -32000
	codeTool    = -32001
	codeSDK     = -32002

	noSession  = "Session not found"
	toolFailed = "Tool execution failed"
	sdkFailed  = "SDK error"
)

// rpcError converts an error to this dialect's code, with the error's text as data; nil for an error that must not be shown.
func rpcError(err error) *jsonrpc.Error {
	known := fault.Public(err)
	if known == nil {
		return nil
	}
	text := strings.TrimSpace(known.Text)
	switch {
	case errors.Is(err, fault.ErrSessionNotFound), errors.Is(err, fault.ErrSessionClosed):
		return jsonrpc.Errorf(codeSession, noSession, "%s", text)
	case known.Kind == fault.Unavailable, known.Kind == fault.Unauthenticated, known.Kind == fault.Timeout:
		return jsonrpc.Errorf(codeSDK, sdkFailed, "%s", text)
	case known.Kind == fault.Busy:
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "Internal error", "%s", text)
	}
	return jsonrpc.InvalidParams("%s", text) // not found, invalid, denied
}
