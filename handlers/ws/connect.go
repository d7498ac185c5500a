package ws

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/jobs/operation"
)

const (
	// closing is added to a status to make the code to close with.
	closing           = 4000
	closeUnauthorized = closing + http.StatusUnauthorized

	maxQuoted      = 64 << 10        // clients have nothing to say
	maxQuotedSmall = 1 << 10         // of what may be compressed, which counts as it comes: it may become a thousand times as long
	silence        = 5 * time.Minute // of a client that does not answer pings any more
	sendBuffer     = 128 << 10       // or the system would hide for megabytes that a client is slow
	writeTimeout   = time.Minute     // for a client that does not read; then it may come back
)

// connect is GET /ws. What is wrong is told before the upgrade, in the order of the notes.
func (a *API) connect(c *gin.Context) {
	w, err := a.prepare(c.Request)
	if err != nil {
		a.refuse(c, err)
		return
	}
	defer w.slot.release()
	a.options.Sockets.Serve(c.Writer, c.Request, w.run)
}

// prepare finds out who wants to watch what, and from where on.
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
		return nil, fault.Errorf(fault.Invalid, "the parameter operation_id is missing: POST /operations gives one")
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
	place, err := a.present.acquire(who.key)
	if err != nil {
		return nil, err
	}
	return &watch{slot: place, id: o.Info().ID, operation: o, at: after}, nil
}

// refuse answers what does not become a connection: over HTTP, or by a close if the client can only be told so.
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

// close accepts a connection to say by its close code why it is refused.
func (a *API) close(c *gin.Context, status int, text string) {
	a.options.Sockets.Serve(c.Writer, c.Request, func(_ context.Context, conn *socket.Conn) {
		conn.Close(closing+status, text)
	})
}

// isSocket says whether a request is for the address of WebSockets.
func isSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/ws")
}

// watch is one connection.
type watch struct {
	slot      *connectionSlot
	id        string
	operation *operation.Operation
	conn      *socket.Conn

	at     int  // the sequence of the last message that the client has
	replay int  // that of the last message that was there when it came: what is behind it is live
	slow   bool // it took long to write to it
}
