package ndjson

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// The codes that JSON-RPC does not have (spec/contracts/cli-protocol.md, "Error Codes").
const (
	codeGenerationFailed    = -32000
	codeCustomizationFailed = -32001
	codeSpecInvalid         = -32002
	codeContextTooLarge     = -32003
	codeRateLimited         = -32004
)

// kindOf is what an error of the program means to the portal.
func kindOf(code int) fault.Kind {
	switch code {
	case codeRateLimited:
		return fault.Busy
	case jsonrpc.CodeInvalidParams, codeCustomizationFailed, codeSpecInvalid, codeContextTooLarge:
		return fault.Invalid
	}
	return fault.Internal // parse error, invalid request, method not found, internal error, generation failed, and unknown ones
}

var (
	errGone   = fault.Errorf(fault.Unavailable, "the agent's program has ended")
	errClosed = fault.Errorf(fault.Unavailable, "the agent's program was stopped")
	errFull   = fault.Errorf(fault.Busy, "%d requests wait for the agent's program already: %w", maxWaiting,
		&jsonrpc.Error{Code: codeRateLimited, Message: "Rate Limited"})
	errLate = errors.New("out of time")
)

// explain makes an error of a request one for users.
func explain(method string, limit time.Duration, err error) error {
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, errLate):
		return fault.Errorf(fault.Timeout, "the agent's program did not answer %q within %v: %w", method, limit, err)
	case errors.Is(err, jsonrpc.ErrGone), errors.Is(err, jsonrpc.ErrClosed):
		return errGone
	case refused:
		return fault.Errorf(kindOf(refusal.Code), "the agent's program refused %q: %w", method, err)
	}
	return fault.Errorf(fault.Internal, "the answer to %q: %w", method, err)
}

// isTransient says whether an error may be over when the request is made again: it
// took too long, the program has died, or said that it was asked too often. A
// queue of ours that is full is told at once.
func isTransient(err error) bool {
	if errors.Is(err, errFull) {
		return false
	}
	refusal, refused := errors.AsType[*jsonrpc.Error](err)
	return errors.Is(err, errLate) || errors.Is(err, errGone) || refused && refusal.Code == codeRateLimited
}

// sleep waits, unless ctx ends or over is closed before.
func sleep(ctx context.Context, d time.Duration, over <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-over:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
}
