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
	"github.com/copilot-portal/portal/copilot/journal"
)

// pollTime is how long a call waits for a response (contract, live).
const pollTime = 5 * time.Second

// How much a call of live/{token} hands out at most.
const (
	batchEvents = 512
	batchBytes  = 1 << 20
)

func token(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"token": uuid.NewString()}) }

// live hands out the next response, for the one reader that a session has in
// the contract.
func (a *API) live(c *gin.Context) { a.poll(c, "", one) }

// liveToken hands out all that is ready, for one of many independent readers.
func (a *API) liveToken(c *gin.Context) { a.poll(c, param(c, "token"), batch) }

// read takes what one call answers with from the record behind a number, waiting
// for it. It returns the answer, as JSON, and the position after it.
type read func(ctx context.Context, r *copilot.Record, m *bookmark, after uint64) (answer []byte, last uint64, err error)

// poll is a call of either form. The bookmark moves only when the answer was
// written, so a client that goes away while it waits loses nothing.
func (a *API) poll(c *gin.Context, token string, read read) {
	a.with(c, func(s *copilot.Session) {
		client := c.Request.Context()
		mark, release, ok := a.bookmarks.hold(client, s.ID(), token)
		if !ok {
			c.JSON(http.StatusOK, gin.H{"error": parallelCall})
			return
		}
		defer release()
		if err := mark.restore(client, s, token); err != nil {
			a.failPoll(c, err)
			return
		}
		ctx, cancel := context.WithTimeout(client, pollTime)
		defer cancel()
		answer, last, err := mark.next(ctx, s.Record(), read)
		moves := err == nil
		if err != nil {
			closed := s.Info().State == copilot.StateClosed
			answer, last, moves = ending{err: err, token: token, over: ctx.Err() != nil, closed: closed}.answer(mark)
		}
		switch {
		case client.Err() != nil: // nobody listens
		case answer == nil:
			a.failPoll(c, err)
		case write(c, answer) == nil && moves:
			mark.move(s.Record(), last)
			mark.remember(s, token)
		}
	})
}

// failPoll answers that something went wrong; the next call tries again.
func (a *API) failPoll(c *gin.Context, err error) {
	_ = c.Error(err) // for the log, whatever the client is told
	fail(c, err)
}

// next reads on from where the reader is. What it was told in another life of the
// session may not stand in the record any more.
func (m *bookmark) next(ctx context.Context, r *copilot.Record, read read) (answer []byte, last uint64, err error) {
	after, err := r.After(m.at)
	if err != nil {
		return nil, 0, err
	}
	return read(ctx, r, m, after)
}

// ending is how a read ended that found nothing more.
type ending struct {
	err    error
	token  string
	over   bool // the time
	closed bool // the session, by a client
}

// answer is tell as JSON.
func (e ending) answer(mark *bookmark) (answer []byte, after uint64, moves bool) {
	told, after, moves := e.tell(mark)
	if told == nil {
		return nil, 0, false
	}
	answer, _ = marshal(told) // texts always can be
	return answer, after, moves
}

// tell is the answer to such a read; nil if it failed. after is where the reader
// goes on if it moves.
func (e ending) tell(mark *bookmark) (answer any, after uint64, moves bool) {
	var gap *journal.GapError
	switch {
	case errors.As(e.err, &gap):
		mark.begun = true // the first query may be among what is gone
		if e.token != "" {
			return gin.H{"responses": []any{hole(gap)}}, gap.First - 1, true
		}
		return hole(gap), gap.First - 1, true
	case errors.Is(e.err, io.EOF) && !e.closed: // it was dropped from memory; the next call finds it again
	case errors.Is(e.err, io.EOF) && e.token != "" && !mark.ended:
		mark.ended = true
		return gin.H{"error": sessionClosed}, 0, false
	case errors.Is(e.err, io.EOF):
		return gin.H{"error": sessionNotFound}, 0, false
	case !e.over:
		return nil, 0, false
	}
	return gin.H{"error": pollTimeout}, 0, false
}

// hole tells of events that the reader misses.
func hole(gap *journal.GapError) sessionError {
	if gap.Stale {
		return sessionError{fmt.Sprintf("gap: some of the last events up to %d were lost before they were stored", gap.After)}
	}
	return sessionError{fmt.Sprintf("gap: events %d–%d are no longer kept", gap.After+1, gap.First-1)}
}

// one reads up to the next event that has a callback.
func one(ctx context.Context, r *copilot.Record, m *bookmark, after uint64) ([]byte, uint64, error) {
	for {
		entries, err := r.Next(ctx, after, batchEvents)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range entries {
			after = e.N
			if _, ok := e.Value.Body.(copilot.RunStarted); ok {
				m.begun = true
			}
			if response, ok := callback(e.Value.Body); ok && m.begun {
				answer, err := marshal(response)
				return answer, after, err
			}
		}
		m.move(r, after) // nothing in them for this reader
	}
}

// batch reads all that is ready. In the past a complete text stands for its
// pieces; what came since is handed out piece by piece.
func batch(ctx context.Context, r *copilot.Record, m *bookmark, after uint64) ([]byte, uint64, error) {
	if !m.known {
		m.past, m.known = r.Last(), true
	}
	for {
		entries, err := r.Next(ctx, after, batchEvents)
		if err != nil {
			return nil, 0, err
		}
		m.ended = false // reopened, perhaps
		responses, last, err := encode(entries, m.past)
		if err != nil || len(responses) > 0 {
			return slices.Concat([]byte(`{"responses":[`), bytes.Join(responses, []byte(",")), []byte("]}")), last, err
		}
		after = last
		m.move(r, after)
	}
}

// encode gives the responses for entries, up to about batchBytes, and the
// number of the last entry that they cover.
func encode(entries []journal.Entry[copilot.Event], past uint64) (responses [][]byte, last uint64, err error) {
	for size := 0; len(entries) > 0 && size < batchBytes; entries = entries[1:] {
		e := entries[0]
		last = e.N
		if e.Superseded && e.N <= past {
			continue
		}
		response, ok := callback(e.Value.Body)
		if m, isMessage := e.Value.Body.(copilot.UserMessage); isMessage {
			response, ok = onUserMessage{"onUserMessage", e.Value.Run, m.Prompt.Text}, true
		}
		if !ok {
			continue
		}
		b, err := marshal(response)
		if err != nil {
			return nil, 0, err
		}
		responses, size = append(responses, b), size+len(b)
	}
	return responses, last, nil
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
