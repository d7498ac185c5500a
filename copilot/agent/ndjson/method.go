package ndjson

import (
	"context"
	"encoding/json"
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

// The methods.
const (
	initialize = "initialize"
	generate   = "generate"
	customize  = "customize"
	chat       = "chat"
)

// policyOf returns the row of a method in spec/contracts/cli-protocol.md, "Timeout & Retry Policy".
func policyOf(method string) policy {
	switch method {
	case generate:
		return policy{time.Minute, []time.Duration{0}}
	case customize:
		return policy{30 * time.Second, []time.Duration{0}}
	case chat:
		return policy{15 * time.Second, []time.Duration{3 * time.Second, 6 * time.Second}}
	}
	return policy{10 * time.Second, []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second}}
}

// StartTimeout is the time limit of a start: all attempts to initialize, with a margin.
const StartTimeout = time.Minute

// InitializeParams describes the client.
type InitializeParams struct {
	ClientName    string             `json:"clientName"`
	ClientVersion string             `json:"clientVersion"`
	Capabilities  ClientCapabilities `json:"capabilities"`
}

// ClientCapabilities lists what the client supports.
type ClientCapabilities struct {
	Streaming   bool     `json:"streaming"`
	SpecFormats []string `json:"specFormats,omitempty"`
}

// InitializeResult describes the program.
type InitializeResult struct {
	ServerName    string             `json:"serverName"`
	ServerVersion string             `json:"serverVersion"`
	Capabilities  ServerCapabilities `json:"capabilities"`
}

// ServerCapabilities lists what the program supports.
type ServerCapabilities struct {
	CodeGeneration bool `json:"codeGeneration"`
	Customization  bool `json:"customization"`
	Streaming      bool `json:"streaming"`
}

// GenerateParams requests an interface to an API.
type GenerateParams struct {
	Spec    json.RawMessage  `json:"spec"`
	Format  string           `json:"format,omitempty"`
	Theme   string           `json:"theme,omitempty"`
	Options *GenerateOptions `json:"options,omitempty"`
}

// GenerateOptions are the features of the interface.
type GenerateOptions struct {
	Layout      string `json:"layout,omitempty"`
	IncludeAuth bool   `json:"includeAuth"`
	Pagination  bool   `json:"pagination"`
}

// GenerateResult is the generated interface.
type GenerateResult struct {
	Code           string `json:"code"`
	ComponentCount int    `json:"componentCount"`
	Description    string `json:"description"`
}

// CustomizeParams requests a change of an interface.
type CustomizeParams struct {
	CurrentCode string          `json:"currentCode"`
	Prompt      string          `json:"prompt"`
	Spec        json.RawMessage `json:"spec,omitempty"`
	History     []HistoryEntry  `json:"history,omitempty"`
}

// HistoryEntry is an earlier message.
type HistoryEntry struct {
	Role    string `json:"role"` // user or assistant
	Content string `json:"content"`
}

// CustomizeResult is the changed interface, or a question about the change.
type CustomizeResult struct {
	Code                string   `json:"code"` // "" with a question
	Description         string   `json:"description"`
	Assumptions         []string `json:"assumptions"`
	ClarificationNeeded bool     `json:"clarificationNeeded"`
	Question            string   `json:"question"`
	Options             []string `json:"options"`
}

// ChatParams are the parameters of chat.
type ChatParams struct {
	Message string      `json:"message"`
	Context ChatContext `json:"context"`
}

// ChatContext is the context of a message.
type ChatContext struct {
	TabID              string `json:"tabId"` // the conversation
	HasActiveSpec      bool   `json:"hasActiveSpec"`
	HasActiveInterface bool   `json:"hasActiveInterface"`
}

// ChatResult is the response to a message.
type ChatResult struct {
	Message     string   `json:"message"`
	Suggestions []string `json:"suggestions"`
}

// Chunk is a piece of an answer in progress. Only the result counts.
type Chunk struct {
	Attempt int // from 1; each attempt starts the answer anew
	Index   int // within the attempt, assigned by the program
	Text    string
	Done    bool // the last one of the attempt
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
	errClosed = fault.Errorf(fault.Unavailable, "the agent's program was stopped")
	errFull   = fault.Errorf(fault.Busy, "%d requests are already waiting for the agent's program: %w", maxWaiting,
		&jsonrpc.Error{Code: codeRateLimited, Message: "Rate Limited"})
	errLate     = errors.New("out of time")
	errNoResult = errors.New("the response has no result")
)

// explain converts an error of a request for users.
func explain(method string, limit time.Duration, err error) error {
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, errLate):
		return fault.Errorf(fault.Timeout, "the agent's program did not answer %q within %v: %w", method, limit, err)
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

// sleep waits until d has passed, ctx ends, or over is closed.
func sleep(ctx context.Context, d time.Duration, over <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-over:
		return stdio.ErrGone
	case <-ctx.Done():
		return ctx.Err()
	}
}
