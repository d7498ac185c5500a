package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
)

// limited sets the deadlines for the request's body. It refuses a request with two body lengths, because a
// proxy before the portal may use the other one.
func (l limits) limited(c *gin.Context) {
	connection := connOf(c.Request.Context())
	if connection != nil {
		defer connection.head.end()
		if connection.head.begin(c.Request) {
			c.Header("Connection", "close")
			refuse(c, http.StatusBadRequest, "a request must have Content-Length or Transfer-Encoding, not both")
			return
		}
	}
	if c.IsWebsocket() {
		c.Header("Connection", "close") // if the request is refused: nothing may follow on this connection
	}
	if c.Request.ContentLength == 0 {
		c.Next()
		return
	}
	control := http.NewResponseController(c.Writer)
	body := &timedBody{ReadCloser: c.Request.Body, control: control, stall: l.stall, until: time.Now().Add(l.body)}
	body.extend()
	c.Request = c.Request.WithContext(c.Request.Context()) // a copy, because net/http inspects the original body
	c.Request.Body = body
	c.Next()
	if body.over || connection != nil && connection.upgraded.Load() {
		return
	}
	// Otherwise net/http waits for the rest of the body before it sends the response.
	wait := l.discard
	if connection != nil {
		connection.unread.Store(true)
		if !connection.admitted.Load() {
			wait = 0
		}
	}
	_ = control.SetReadDeadline(time.Now().Add(wait)) // the writers of some tests do not support it
}

// errSlowBody is returned when a body arrives too slowly.
var errSlowBody = errors.New("the body did not arrive in time")

// timedBody limits the time for each read of a body and for all of it.
type timedBody struct {
	io.ReadCloser

	control *http.ResponseController
	stall   time.Duration
	until   time.Time // deadline of the whole body
	over    bool      // no more reads
}

// Read reads the next part of the body. net/http clears the deadline afterwards.
func (b *timedBody) Read(p []byte) (int, error) {
	if !b.over {
		b.extend()
	}
	n, err := b.ReadCloser.Read(p)
	b.over = b.over || errors.Is(err, io.EOF)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errSlowBody
	}
	return n, err
}

func (b *timedBody) extend() {
	deadline := time.Now().Add(b.stall)
	if b.until.Before(deadline) {
		deadline = b.until
	}
	_ = b.control.SetReadDeadline(deadline) // the writers of some tests do not support it
}
