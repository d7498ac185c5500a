package rpc

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/handlers/wire"
)

const (
	commentEvery  = 15 * time.Second // keeps a silent stream alive
	batchEvents   = 128
	shutdownGrace = 3200 * time.Millisecond // for streams to end by themselves, which takes 2.5 s when an agent hangs (server.Serve)
)

// eventWriter is the output of a stream: server-sent events, or notifications on a WebSocket.
type eventWriter interface {
	add(at journal.Position, messages []message) error // to what flush sends; the zero position is none
	isFull() bool                                      // it is time to
	flush() error
	comment() error // says that the stream is alive
}

// streamReader is one stream: the goroutine of its request, which reads the record and writes its
// events.
type streamReader struct {
	api     *API
	session *copilot.Session // as the reader had it last
	use     *sessionUse
	reader  *follow.SessionReader
	writer  eventWriter
	encoder *encoder
	after   uint64        // everything up to here is sent
	written atomic.Uint64 // the same, for other goroutines
	once    bool          // ends with the first done
	limited bool          // for the holder of a link: it receives everything, and what it receives does not count as delivered
}

// stream is GET /stream/{id}.
func (a *API) stream(c *gin.Context) {
	ctx, cancel := a.withShutdown(c.Request.Context(), shutdownGrace)
	defer cancel()
	s, err := a.options.Host.Session(ctx, wire.Param(c, "id"))
	if err != nil {
		failStream(c, err)
		return
	}
	cache, release := a.events.Acquire(s.ID())
	defer release()
	out := newWriter(c.Writer, cache, &a.shared)
	if wire.AcceptsGzip(c.Request) {
		out.gzip = wire.NewGzip(&a.shared)
	}
	from, err := parseStart(lastID(c), c.Query("interval"))
	if err != nil {
		failStream(c, err)
		return
	}
	r := &streamReader{api: a, session: s, use: a.use(s), writer: out, encoder: newEncoder(), once: c.Query("until") == "done"}
	gap, err := r.begin(ctx, from)
	if err != nil {
		failStream(c, err)
		return
	}
	a.follow(s, "")
	r.use.join(r)
	defer r.use.leave(r)
	if out.open() == nil && r.gap(gap) == nil {
		r.run(ctx)
		_ = out.close() // fails if the client is gone
	}
}

// lastID returns the position from which the client continues; "" for a new client.
func lastID(c *gin.Context) string {
	if id := c.GetHeader("Last-Event-ID"); id != "" {
		return id
	}
	return c.Query("lastEventId")
}

// failStream answers that there is nothing to read.
func failStream(c *gin.Context, err error) {
	status, text := http.StatusInternalServerError, "internal error; see the portal's log"
	var known *fault.Error
	if errors.As(err, &known) {
		text = known.Text
	}
	switch fault.KindOf(err) {
	case fault.NotFound:
		status = http.StatusNotFound
	case fault.Invalid:
		status = http.StatusBadRequest
	case fault.Unavailable, fault.Timeout:
		status = http.StatusServiceUnavailable
	case fault.Busy, fault.Denied, fault.Unauthenticated, fault.Internal:
	}
	if status == http.StatusInternalServerError {
		_ = c.Error(err) // for the log
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(status, gin.H{"error": text})
}

// streamStart is where a stream starts, and how often it sends events.
type streamStart struct {
	after    *journal.Position // that the client has; nil for a new client
	interval time.Duration     // least time between events
}

// parseStart reads the position of a client, "" for a new one, and an interval.
func parseStart(lastEventID, interval string) (from streamStart, err error) {
	if from.interval, err = follow.ParseInterval(interval); err != nil || lastEventID == "" {
		return from, err
	}
	at, err := journal.ParsePosition(lastEventID)
	if err != nil {
		return from, fault.Errorf(fault.Invalid, "the Last-Event-ID %.50q is not from this portal", lastEventID)
	}
	from.after = &at
	return from, nil
}

// begin determines where the stream starts, and what the client may have missed.
func (r *streamReader) begin(ctx context.Context, from streamStart) (gap *journal.GapError, err error) {
	_, r.limited = copilot.AccessOf(ctx)
	switch {
	case from.after == nil && r.limited: // what others have received is not its concern
		r.encoder.past = r.session.Record().Last()
	case from.after == nil:
		r.after, gap, err = r.api.delivered.startOf(ctx, r.session)
		r.encoder.past = r.session.Record().Last()
	default:
		gap, err = r.resume(ctx, *from.after)
	}
	r.written.Store(r.after)
	r.encoder.last = r.after
	r.reader = follow.Session(r.api.options.Host, r.session, r.after)
	r.reader.Limit, r.reader.Idle = batchEvents, func() time.Duration { return commentEvery }
	if from.interval > 0 {
		r.reader.Interval, r.writer = from.interval, &coalescer{eventWriter: r.writer}
	}
	return gap, err
}

// resume continues after a position that the client has.
func (r *streamReader) resume(ctx context.Context, at journal.Position) (gap *journal.GapError, err error) {
	r.session.CatchUp(ctx, at)
	if r.after, gap = follow.From(r.session.Record(), at); gap != nil {
		r.encoder.skip(gap)
		return gap, nil
	}
	return nil, r.encoder.replay(ctx, r.session.Record(), r.after)
}

// gap sends a gap.
func (r *streamReader) gap(gap *journal.GapError) error {
	if gap == nil {
		return nil
	}
	if err := r.writer.add(journal.Position{}, []message{encodeGap(gap)}); err != nil {
		return err
	}
	return r.writer.flush()
}

// run sends events until the session is closed, the client disconnects, or the portal stops.
func (r *streamReader) run(ctx context.Context) {
	for b, err := range r.reader.All(ctx) {
		if s := r.reader.Session(); s != r.session { // it has left memory and come back
			r.session = s
			r.api.follow(s, "")
		}
		switch {
		case err != nil:
		case b.Gap != nil:
			r.after = r.reader.After()
			r.encoder.skip(b.Gap)
			err = r.gap(b.Gap)
		case len(b.Entries) == 0:
			err = r.keepAlive()
		default:
			err = r.encode(b.Entries)
		}
		if err != nil {
			r.fail(err)
			return
		}
	}
}

// errDone ends a stream that has sent everything it should.
var errDone = errors.New("the stream has ended")

// fail logs why a record can no longer be read, if that is the error.
func (r *streamReader) fail(err error) {
	if fault.KindOf(err) == fault.Internal && !errors.Is(err, errDone) {
		r.api.options.Log.Debug("stream ended", "session", r.session.ID(), "err", err)
	}
}

// encode writes what entries say.
func (r *streamReader) encode(entries []follow.Entry) error {
	record := r.session.Record()
	for i, e := range entries {
		messages := r.encoder.encode(e)
		if err := r.writer.add(record.Position(e.N), messages); err != nil {
			return err
		}
		r.after = e.N
		_, done := e.Value.Body.(event.RunEnded)
		if done || i == len(entries)-1 || r.writer.isFull() {
			if err := r.flush(done); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush sends what was added.
func (r *streamReader) flush(done bool) error {
	undo := func() {}
	if done && !r.limited {
		undo = r.api.delivered.markDelivered(r.session, r.after)
	}
	if err := r.writer.flush(); err != nil {
		undo()
		return err
	}
	r.written.Store(r.after)
	if done && r.once {
		return errDone
	}
	return nil
}

// keepAlive keeps a silent stream alive.
func (r *streamReader) keepAlive() error {
	r.use.touch()
	return r.writer.comment()
}
