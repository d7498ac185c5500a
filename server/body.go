package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/gin-gonic/gin"
)

// limited gives the body of a request its deadlines, and refuses a request whose
// body has two lengths: a proxy before the portal might take the other one.
func (l limits) limited(c *gin.Context) {
	connection := connOf(c.Request.Context())
	if connection != nil {
		defer connection.head.end()
		if connection.head.begin(c.Request) {
			c.Header("Connection", "close")
			refuse(c, http.StatusBadRequest, "a request has Content-Length or Transfer-Encoding, not both")
			return
		}
	}
	if c.IsWebsocket() {
		c.Header("Connection", "close") // if it is refused: nothing may follow on it
	}
	if c.Request.ContentLength == 0 {
		c.Next()
		return
	}
	control := http.NewResponseController(c.Writer)
	body := &timedBody{ReadCloser: c.Request.Body, control: control, stall: l.stall, until: time.Now().Add(l.body)}
	body.extend()
	c.Request = c.Request.WithContext(c.Request.Context()) // a copy: net/http looks at the body of its own
	c.Request.Body = body
	c.Next()
	if body.over {
		return
	}
	// Otherwise net/http waits for the rest before it answers.
	wait := l.discard
	if connection != nil {
		connection.unread.Store(true)
		if !connection.admitted.Load() {
			wait = 0
		}
	}
	_ = control.SetReadDeadline(time.Now().Add(wait)) // not every test's writer can
}

// errSlowBody is what reading a body fails with.
var errSlowBody = errors.New("it did not come in time")

// timedBody is a body of which each part and the whole have to come in time.
type timedBody struct {
	io.ReadCloser

	control *http.ResponseController
	stall   time.Duration
	until   time.Time // for the whole
	over    bool      // nothing more is read
}

// Read reads the next part. net/http clears the deadline at the end.
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
	_ = b.control.SetReadDeadline(deadline) // not every test's writer can
}
