package server

import (
	"context"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/share"
)

// What the holder of a link may call is listed here, for every dialect; everything else is refused. The domain keeps the holder to
// the one session ([copilot.Access]), so a route or method is safe here only if it finds sessions by the host with the context of the request.
// TestHolderOfALinkMayCallOnlyTheseMethods and TestHolderOfALinkMayUseOnlyTheseRoutes know all the others.

// linkedRoutes are the routes, below the base path, that need rights. Files of the page need none.
func linkedRoutes() map[string]share.Rights {
	return map[string]share.Rights{
		"GET /ui":         share.Read, // see linkedUI
		"GET /rpc":        share.Read, // see linkedRPC
		"POST /rpc":       share.Read,
		"GET /stream/:id": share.Read,
		"GET /version":    share.Read,

		"GET /api/token":                                share.Read,
		"GET /api/copilot/session":                      share.Read, // lists the one session
		"GET /api/copilot/session/:id/live/:token":      share.Read,
		"GET /api/copilot/session/:id/history":          share.Read,
		"GET /api/copilot/session/:id/export":           share.Read,
		"POST /api/copilot/session/:id/answer/:request": share.Answer,
	}
}

// linkedUI are methods of /ui. A UI answers questions with responses, not with a method: the connection itself asks only those who may answer.
func linkedUI() map[string]share.Rights {
	return map[string]share.Rights{
		"initialize":             share.Read,
		"session.list":           share.Read,
		"session.history":        share.Read,
		"portal.session.attach":  share.Read,
		"portal.session.earlier": share.Read,
		"portal.session.detach":  share.Read,
		"portal.session.changes": share.Read,
		"portal.session.diff":    share.Read,
		"portal.queue.list":      share.Read,
		"portal.share.current":   share.Read,
	}
}

// linkedRPC are methods of /rpc, over HTTP and as a WebSocket.
func linkedRPC() map[string]share.Rights {
	return map[string]share.Rights{
		"session.list":        share.Read,
		"session.subscribe":   share.Read,
		"session.unsubscribe": share.Read,
		"session.changes":     share.Read,
		"session.diff":        share.Read,
		"queue.list":          share.Read,
		"question.answer":     share.Answer,
		"share.current":       share.Read,
	}
}

// admitLinked returns a function that refuses methods to the holder of a link; see [jsonrpc.Options].
func admitLinked(methods map[string]share.Rights) func(context.Context, string) error {
	return func(ctx context.Context, method string) error {
		x, linked := share.Of(ctx)
		if !linked {
			return nil
		}
		if needed, listed := methods[method]; listed && x.Rights.Include(needed) {
			return nil
		}
		return fault.Errorf(fault.Denied, "%s", x.Rights.Describe())
	}
}
