package rest

import (
	"bytes"
	"context"
	"encoding/json"
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
)

// pollTime is how long a call waits for a response (spec/contracts/portal-rest.md,
// "copilot/session/{session-id}/live").
const pollTime = 5 * time.Second

// How much a call of live/{token} hands out at most.
const (
	batchEvents = 512
	batchBytes  = 1 << 20
)

func token(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"token": uuid.NewString()}) }

// live hands out the next response, for the one reader that a session has in
// spec/contracts/portal-rest.md, "copilot/session/{session-id}/live".
func (a *API) live(c *gin.Context) { a.liveSession(c, "") }

// liveToken hands out all that is ready, for one of many independent readers.
func (a *API) liveToken(c *gin.Context) { a.liveSession(c, param(c, "token")) }

func (a *API) liveSession(c *gin.Context, token string) {
	a.withSession(c, func(s *copilot.Session) {
		r := reader{marks: &a.bookmarks, id: s.ID(), token: token, afterClosed: sessionNotFound}
		if token != "" {
			r.closed = sessionClosed
		}
		poll(c, r, sessionSource{a.options.Host, s, token})
	})
}

// reader is who calls live, and what it is told behind the end: closed once if it
// is not "", gone ever after.
type reader struct {
	marks               *bookmarks
	id, token           string // of what it reads; of its own, "" for the one reader of live without a token
	closed, afterClosed string
}

// recordSource is what calls of live read, with entries E: the record of a session, a job
// or a task. Its methods are called by who holds the bookmark.
type recordSource[E any] interface {
	// start gives a reader that goes on at the bookmark.
	start(ctx context.Context, m *bookmark) (*follow.Reader[E], error)
	// encode gives the number of an entry and what the reader is told of it, if anything.
	encode(m *bookmark, e E) (n uint64, response any)
	// movePosition notes that the reader has got everything up to a number.
	movePosition(m *bookmark, n uint64)
	// savePosition is called when something was written to the reader.
	savePosition(m *bookmark)
	// ended says whether what was read up to its end has come to an end.
	ended() bool
}

// poll is a call of either form. The bookmark moves only when the answer was
// written, so a client that goes away while it waits loses nothing.
func poll[E any](c *gin.Context, r reader, f recordSource[E]) {
	client := c.Request.Context()
	mark, release, ok := r.marks.acquire(client, r.id, r.token)
	if !ok {
		c.JSON(http.StatusOK, gin.H{"error": parallelCall})
		return
	}
	defer release()
	ctx, cancel := context.WithTimeout(client, pollTime)
	defer cancel()
	answer, last, err := read(ctx, r, f, mark)
	moves := err == nil
	if err != nil {
		answer, last, moves = readEnd{reader: r, err: err, over: ctx.Err() != nil, ended: f.ended()}.answer(mark)
	}
	switch {
	case client.Err() != nil: // nobody listens
	case answer == nil:
		failPoll(c, err)
	case write(c, answer) == nil && moves:
		f.movePosition(mark, last)
		f.savePosition(mark)
	}
}

// read takes what one call answers with, waiting for it: the answer, as JSON, and
// the position after it.
func read[E any](ctx context.Context, r reader, f recordSource[E], m *bookmark) (answer []byte, last uint64, err error) {
	from, err := f.start(ctx, m)
	if err != nil {
		return nil, 0, err
	}
	encode := encodeFirst[E]
	if r.token != "" {
		encode = encodeBatch[E]
	}
	for from.Limit = batchEvents; ; {
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
		f.movePosition(m, last) // nothing in them for this reader
	}
}

// failPoll answers that something went wrong; the next call tries again.
func failPoll(c *gin.Context, err error) {
	_ = c.Error(err) // for the log, whatever the client is told
	fail(c, err)
}

// readEnd is how a read ended that found nothing more.
type readEnd struct {
	reader

	err   error
	over  bool // the time
	ended bool // what is read
}

// answer is tell as JSON.
func (e readEnd) answer(mark *bookmark) (answer []byte, after uint64, moves bool) {
	told, after, moves := e.response(mark)
	if told == nil {
		return nil, 0, false
	}
	answer, _ = marshal(told) // texts always can be
	return answer, after, moves
}

// response is the answer to such a read; nil if it failed. after is where the reader
// goes on if it moves.
func (e readEnd) response(mark *bookmark) (answer any, after uint64, moves bool) {
	var gap *journal.GapError
	switch {
	case errors.As(e.err, &gap):
		mark.begun = true // the first query may be among what is gone
		if e.token != "" {
			return gin.H{"responses": []any{encodeGap(gap)}}, gap.First - 1, true
		}
		return encodeGap(gap), gap.First - 1, true
	case errors.Is(e.err, io.EOF) && !e.ended: // it was dropped from memory; the next call finds it again
	case errors.Is(e.err, io.EOF) && e.closed != "" && !mark.ended:
		mark.ended = true
		return gin.H{"error": e.closed}, 0, false
	case errors.Is(e.err, io.EOF):
		return gin.H{"error": e.afterClosed}, 0, false
	case !e.over:
		return nil, 0, false
	}
	return gin.H{"error": pollTimeout}, 0, false
}

// encodeGap tells of events that the reader misses.
func encodeGap(gap *journal.GapError) sessionError {
	if gap.Stale {
		return sessionError{fmt.Sprintf("gap: some of the last events up to %d were lost before they were stored", gap.After)}
	}
	return sessionError{fmt.Sprintf("gap: events %d–%d are no longer kept", gap.After+1, gap.First-1)}
}

// encodeFirst gives the first response for entries, and the number of the last entry
// that it covers.
func encodeFirst[E any](f recordSource[E], m *bookmark, entries []E) (answer []byte, last uint64, err error) {
	for _, e := range entries {
		n, response := f.encode(m, e)
		last = n
		if response != nil {
			answer, err = marshal(response)
			break
		}
	}
	return answer, last, err
}

// encodeBatch gives the responses for entries, up to about batchBytes, and the
// number of the last entry that they cover.
func encodeBatch[E any](f recordSource[E], m *bookmark, entries []E) (answer []byte, last uint64, err error) {
	m.ended = false // reopened, perhaps
	var responses [][]byte
	for size := 0; len(entries) > 0 && size < batchBytes; entries = entries[1:] {
		n, response := f.encode(m, entries[0])
		last = n
		if response == nil {
			continue
		}
		b, err := marshal(response)
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

// write sends an answer and tells whether it left.
func write(c *gin.Context, answer []byte) error {
	c.Header("Content-Type", "application/json; charset=utf-8")
	c.Header("Content-Length", strconv.Itoa(len(answer)))
	if _, err := c.Writer.Write(answer); err != nil {
		return err
	}
	return http.NewResponseController(c.Writer).Flush()
}

// marshal leaves "<" as it is: what people read in a terminal is no HTML.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}
