package ndjson

import (
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// policy is the time limit of a method, from when the request is written, and the waits before its retries.
type policy struct {
	limit   time.Duration
	backoff []time.Duration
}

// The methods that the portal calls.
const (
	initialize = "initialize"
	chat       = "chat"
)

// policyOf returns the row of a method in spec/contracts/cli-protocol.md, "Timeout & Retry Policy".
func policyOf(method string) policy {
	if method == chat {
		return policy{15 * time.Second, []time.Duration{3 * time.Second, 6 * time.Second}}
	}
	return policy{10 * time.Second, []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second}}
}

// StartTimeout is the time limit of a start: all attempts to initialize, with a margin.
const StartTimeout = time.Minute

// initializeParams describes the portal.
type initializeParams struct {
	ClientName    string             `json:"clientName"`
	ClientVersion string             `json:"clientVersion"`
	Capabilities  clientCapabilities `json:"capabilities"`
}

// clientCapabilities lists what the portal supports.
type clientCapabilities struct {
	Streaming   bool     `json:"streaming"`
	SpecFormats []string `json:"specFormats"`
}

// initializeResult describes the program.
type initializeResult struct {
	ServerName    string `json:"serverName"`
	ServerVersion string `json:"serverVersion"`
}

// chatParams are the parameters of chat.
type chatParams struct {
	Message string      `json:"message"`
	Context chatContext `json:"context"`
}

// chatContext is the context of a message.
type chatContext struct {
	TabID              string `json:"tabId"` // the conversation
	HasActiveSpec      bool   `json:"hasActiveSpec"`
	HasActiveInterface bool   `json:"hasActiveInterface"`
}

// chatResult is the response to a message.
type chatResult struct {
	Message     string   `json:"message"`
	Suggestions []string `json:"suggestions"`
}

// Codes besides those of JSON-RPC (spec/contracts/cli-protocol.md, "Error Codes"). -32000, "generation failed", is
// internal.
const (
	codeCustomizationFailed = -32001
	codeSpecInvalid         = -32002
	codeContextTooLarge     = -32003
	codeRateLimited         = -32004
)

// kindOf returns the kind of an error of the program.
func kindOf(code int) fault.Kind {
	switch code {
	case codeRateLimited:
		return fault.Busy
	case jsonrpc.CodeInvalidParams, codeCustomizationFailed, codeSpecInvalid, codeContextTooLarge:
		return fault.Invalid
	}
	return fault.Internal // other and unknown codes
}

var (
	errFull = fault.Errorf(fault.Busy, "%d requests are already waiting for the agent's program: %w", maxWaiting,
		&jsonrpc.Error{Code: codeRateLimited, Message: "Rate Limited"})
	errLate     = errors.New("out of time")
	errNoResult = errors.New("the response has no result")
)

// explain converts an error of a request for users.
func explain(method string, err error) error {
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, errLate):
		return fault.Errorf(fault.Timeout, "the agent's program did not answer %q within %v: %w", method, policyOf(method).limit, err)
	case errors.Is(err, jsonrpc.ErrGone), errors.Is(err, jsonrpc.ErrClosed):
		return stdio.ErrGone
	case refused:
		return fault.Errorf(kindOf(refusal.Code), "the agent's program refused %q: %w", method, err)
	}
	return fault.Errorf(fault.Internal, "the answer to %q: %w", method, err)
}

// isTransient reports whether a retry may help: the request timed out, the program died, or it limits the rate. A full
// queue of this client is reported at once.
func isTransient(err error) bool {
	if errors.Is(err, errFull) {
		return false
	}
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	return errors.Is(err, errLate) || errors.Is(err, stdio.ErrGone) || refused && refusal.Code == codeRateLimited
}
