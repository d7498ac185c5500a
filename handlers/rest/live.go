package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

// pollTime is how long a call waits for a response (spec/contracts/portal-rest.md,
// "copilot/session/{session-id}/live").
const pollTime = 5 * time.Second

// Limits of one response of live/{token}, and the events that a call of live reads at a time to find its response.
const (
	batchEvents  = 512
	batchBytes   = 1 << 20
	singleEvents = 8
)

func token(*gin.Context) (any, error) { return gin.H{"token": uuid.NewString()}, nil }

// live returns the next response to the only reader without a token, or all available responses to one of many independent readers
// (spec/contracts/portal-rest.md, "copilot/session/{session-id}/live").
func (a *API) live(c *gin.Context, s *copilot.Session) (any, error) {
	r := reader{marks: &a.bookmarks, id: s.ID(), token: wire.Param(c, "token"), afterClosed: sessionNotFound}
	if r.token != "" {
		var err error
		r.closed = sessionClosed
		if r.interval, err = follow.ParseInterval(c.Query("interval")); err != nil {
			return nil, err
		}
	}
	_, limited := copilot.AccessOf(c.Request.Context())
	if limited {
		r.marks = &a.linkMarks
	}
	return poll(c, r, sessionSource{host: a.options.Host, session: s, token: r.token, unstored: limited})
}

// reader is a caller of live, and the errors it gets after the end: closed once, unless it
// is "", then afterClosed.
type reader struct {
	marks               *bookmarks
	id, token           string // of the record and of the reader; token is "" for live without one
	closed, afterClosed string
	interval            time.Duration // the least time between two answers
}

// recordSource is the record, with entries E, that calls of live read: that of a session, a job
// or a task. Only the call that holds the bookmark may call its methods.
type recordSource[E any] interface {
	// start returns a reader that continues at the bookmark.
	start(ctx context.Context, m *bookmark) (*follow.Reader[E], error)
	// encode returns the number of an entry and the response for it, nil for none.
	encode(m *bookmark, e E) (n uint64, response any)
	// movePosition records that the reader has received everything up to a number.
	movePosition(m *bookmark, n uint64)
	// deliver writes the answer for everything up to a number, and moves the position if the reader may have received it. An error
	// means that nothing was written.
	deliver(ctx context.Context, m *bookmark, n uint64, write func() error) error
	// ended reports whether the end of the record is final.
	ended(ctx context.Context) bool
}

// poll serves both forms of live. The bookmark moves only after the answer was
// written, so a client that disconnects while waiting loses nothing.
func poll[E any](c *gin.Context, r reader, f recordSource[E]) (any, error) {
	client := c.Request.Context()
	mark, release, ok := r.marks.acquire(client, r.id, r.token)
	if !ok {
		return gin.H{"error": parallelCall}, nil
	}
	defer release()
	ctx, cancel := context.WithTimeout(client, pollTime)
	defer cancel()
	if r.interval > 0 {
		follow.PauseUntil(ctx, mark.answered.Add(r.interval))
	}
	answer, last, err := read(ctx, r, f, mark)
	var gap *journal.GapError
	if errors.As(err, &gap) {
		mark.begun = true // the gap may contain the first query
		answer, last, err = r.encodeGap(gap)
	}
	switch {
	case client.Err() != nil: // the client has disconnected
		return written{}, nil
	case errors.Is(err, io.EOF) && f.ended(client):
		return gin.H{"error": r.end(mark)}, nil
	case errors.Is(err, io.EOF), err != nil && ctx.Err() != nil: // EOF: evicted from memory; the next call reads it from the store
		return gin.H{"error": pollTimeout}, nil
	case err != nil:
		_ = c.Error(err) // log the cause, whatever the client gets
		return nil, err  // the next call tries again
	case f.deliver(client, mark, last, func() error { mark.answering.Store(true); return write(c, answer) }) != nil: // the next call reads it again
		return gin.H{"error": pollTimeout}, nil
	}
	mark.answered = time.Now()
	return written{}, nil
}

// read waits for the answer of one call and returns it, as JSON, with
// the position after it.
func read[E any](ctx context.Context, r reader, f recordSource[E], m *bookmark) (answer []byte, last uint64, err error) {
	from, err := f.start(ctx, m)
	if err != nil {
		return nil, 0, err
	}
	encode := encodeBatch[E]
	from.Limit = batchEvents
	if r.token == "" {
		encode, from.Limit = encodeFirst[E], singleEvents
	}
	for {
		b, err := from.Next(ctx)
		switch {
		case err != nil:
			return nil, 0, err
		case b.Gap != nil:
			return nil, 0, b.Gap
		}
		answer, last, err = encode(f, m, b.Entries)
		if err != nil || answer != nil {
			return answer, last, err
		}
		f.movePosition(m, last) // no response for this reader
	}
}

// end returns the error that says that the record has ended.
func (r reader) end(mark *bookmark) string {
	if r.closed == "" || mark.ended {
		return r.afterClosed
	}
	mark.ended = true
	return r.closed
}

// encodeGap encodes a gap in the record, and returns the position after it.
func (r reader) encodeGap(gap *journal.GapError) (answer []byte, last uint64, err error) {
	text := fmt.Sprintf("gap: events %d–%d are no longer kept", gap.After+1, gap.First-1)
	if gap.Stale {
		text = fmt.Sprintf("gap: some of the last events up to %d were lost before they were stored", gap.After)
	}
	var response any = sessionError{text}
	if r.token != "" {
		response = gin.H{"responses": []any{response}}
	}
	answer, err = jsonrpc.Encode(response)
	return answer, gap.First - 1, err
}

// encodeFirst encodes the first response among entries and returns the number of the last entry
// that it covers.
func encodeFirst[E any](f recordSource[E], m *bookmark, entries []E) (answer []byte, last uint64, err error) {
	for _, e := range entries {
		n, response := f.encode(m, e)
		last = n
		if response != nil {
			answer, err = jsonrpc.Encode(response)
			break
		}
	}
	return answer, last, err
}

// encodeBatch encodes the responses for entries, up to about batchBytes, and returns the
// number of the last entry that they cover.
func encodeBatch[E any](f recordSource[E], m *bookmark, entries []E) (answer []byte, last uint64, err error) {
	m.ended = false // the session may have been reopened
	var responses [][]byte
	for size := 0; len(entries) > 0 && size < batchBytes; entries = entries[1:] {
		n, response := f.encode(m, entries[0])
		last = n
		if response == nil {
			continue
		}
		b, err := jsonrpc.Encode(response)
		if err != nil {
			return nil, 0, err
		}
		responses, size = append(responses, b), size+len(b)
	}
	if len(responses) == 0 {
		return nil, last, nil
	}
	return slices.Concat([]byte(`{"responses":[`), bytes.Join(responses, []byte(",")), []byte("]}")), last, nil
}

// minZipped is the size in bytes from which an answer is compressed for clients that accept it.
const minZipped = 512

// write sends an answer. Its error means that the client may not have received it.
func write(c *gin.Context, answer []byte) error {
	if len(answer) >= minZipped && wire.AcceptsGzip(c.Request) {
		var out bytes.Buffer
		z := wire.NewGzip(&wire.Deflater{})
		z.Add(&out, answer)
		z.End(&out)
		answer = out.Bytes()
		c.Header("Content-Encoding", "gzip")
		c.Header("Vary", "Accept-Encoding")
	}
	c.Header("Content-Type", "application/json; charset=utf-8")
	c.Header("Content-Length", strconv.Itoa(len(answer)))
	if _, err := c.Writer.Write(answer); err != nil {
		return err
	}
	return http.NewResponseController(c.Writer).Flush()
}
