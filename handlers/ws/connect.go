package ws

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/jobs/operation"
)

const (
	// closing plus a status is the code of a close.
	closing           = 4000
	closeUnauthorized = closing + http.StatusUnauthorized

	maxFrame     = 64 << 10        // clients send nothing that matters
	silence      = 5 * time.Minute // disconnects a client that answers no pings
	sendBuffer   = 128 << 10       // with a larger one, the system hides that a client is slow
	writeTimeout = time.Minute     // for a client that does not read; it may reconnect
)

// connect is GET /ws. It reports errors before the upgrade, in the order of the notes.
func (a *API) connect(c *gin.Context) {
	w, err := a.prepare(c.Request)
	if err != nil {
		a.refuse(c, err)
		return
	}
	upgraded := a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
		defer w.slot.release()
		w.run(ctx, conn)
	})
	if !upgraded {
		w.slot.release()
	}
}

// prepare determines who wants to watch which operation, and from which message.
func (a *API) prepare(r *http.Request) (*watch, error) {
	who, err := a.authenticate(r)
	if err != nil {
		return nil, err
	}
	if err := who.needs(scopeRead); err != nil {
		return nil, err
	}
	query := r.URL.Query()
	id := query.Get("operation_id")
	if id == "" {
		return nil, fault.Errorf(fault.Invalid, "the parameter operation_id is missing: POST /operations returns one")
	}
	o, err := a.options.Operations.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	after := -1
	for _, name := range []string{"last_received_sequence", "last_sequence"} {
		if query.Has(name) {
			if after, err = integer("last_received_sequence", query.Get(name), -1); err != nil {
				return nil, err
			}
			break
		}
	}
	if after > o.Last() { // another node of the cluster may have sent it
		o.CatchUp(r.Context())
	}
	slot, err := a.connections.acquire(who.key)
	if err != nil {
		return nil, err
	}
	return &watch{slot: slot, id: o.Info().ID, operation: o, at: after, share: a.options.Sockets.Share}, nil
}

// refuse reports why there is no connection: over HTTP, or by a close if the client can read only that.
func (a *API) refuse(c *gin.Context, err error) {
	if !socket.Offers(c.Request, Subprotocol) {
		a.fail(c, err)
		return
	}
	f := failureOf(err)
	if f.status == http.StatusInternalServerError {
		_ = c.Error(err)
	}
	a.close(c, f.status, f.text)
}

// close accepts a connection only to close it with a code that tells why.
func (a *API) close(c *gin.Context, status int, text string) {
	a.options.Sockets.Serve(c.Writer, c.Request, func(_ context.Context, conn *socket.Conn) {
		conn.Close(closing+status, text)
	})
}

// watch is one connection.
type watch struct {
	slot      *connectionSlot
	id        string
	operation *operation.Operation
	conn      *socket.Conn
	share     func(frame []byte) // says that all connections are sent a frame

	at     int  // sequence of the last message that the client has
	replay int  // sequence of the last message when the client came; later messages are live
	slow   bool // the last write was slow
}
