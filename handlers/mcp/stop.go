package mcp

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot/fault"
)

// untilStop returns a context that also ends when the portal stops. The sessions have ended then, and what happened in them can still be
// read. The caller must cancel it.
func (a *API) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.AfterFunc(a.stopping, func() { cancel(fault.ErrStopping) })
	return ctx, func() {
		release()
		cancel(nil)
	}
}

// isStopping reports whether a context has ended because the portal stops. What a call waits for goes on in another portal, or has ended:
// the call returns as if its time had passed.
func isStopping(ctx context.Context) bool { return errors.Is(context.Cause(ctx), fault.ErrStopping) }
