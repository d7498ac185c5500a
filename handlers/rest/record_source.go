package rest

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs"
)

// sessionSource is the record of a session for one reader.
type sessionSource struct {
	host    *copilot.Host
	session *copilot.Session
	token   string

	unstored bool // its position is kept in memory only
}

// start fails with a gap if the record may lack events that the reader received in a
// previous epoch.
func (f sessionSource) start(ctx context.Context, m *bookmark) (*follow.Reader[follow.Entry], error) {
	if !f.unstored {
		if err := m.restore(ctx, f.session, f.token); err != nil {
			return nil, err
		}
	}
	if !m.restored {
		m.past, m.restored = f.session.Record().Last(), true
	}
	after, gap := follow.From(f.session.Record(), m.at)
	if gap != nil {
		return nil, gap
	}
	return follow.Record(f.session.Record(), after), nil
}

func (f sessionSource) encode(m *bookmark, e follow.Entry) (n uint64, response any) {
	if f.token == "" {
		return e.N, m.encodeSinceFirstQuery(e.Value.Body)
	}
	return e.N, m.encodeAll(e)
}

// encodeSinceFirstQuery encodes an event for the reader of live without a token, which gets nothing from before
// the first query (spec/contracts/portal-rest.notes.md).
func (m *bookmark) encodeSinceFirstQuery(b event.Body) any {
	if _, ok := b.(event.RunStarted); ok {
		m.begun = true
	}
	if response, ok := encodeCallback(b); ok && m.begun {
		return response
	}
	return nil
}

// encodeAll encodes an entry for the reader of a token. In the past, a complete text
// stands for its deltas; later texts are sent in deltas.
func (m *bookmark) encodeAll(e follow.Entry) any {
	if !m.includes(e) {
		return nil
	}
	if response, ok := encodeCallback(e.Value.Body); ok {
		return response
	}
	if message, ok := e.Value.Body.(event.UserMessage); ok {
		return onUserMessage{"onUserMessage", e.Value.Run, message.Prompt.Text}
	}
	return nil
}

// includes reports whether an entry is sent. Of the deltas of a text, all or none are: otherwise
// a text that ends during the replay would have a gap.
func (m *bookmark) includes(e follow.Entry) bool {
	key, isDelta := "", true
	switch b := e.Value.Body.(type) {
	case event.ReasoningDelta:
		key = "reasoning " + b.ID
	case event.MessageDelta:
		key = "message " + b.ID
	case event.ToolOutput:
		key = "tool " + b.ID
	case event.RunEnded:
		m.texts, isDelta = nil, false
	default:
		isDelta = false
	}
	if !isDelta {
		return true
	}
	included, known := m.texts[key]
	if !known {
		included = !e.Superseded || e.N > m.past
		if m.texts == nil {
			m.texts = map[string]bool{}
		}
		m.texts[key] = included
	}
	return included
}

func (f sessionSource) movePosition(m *bookmark, n uint64) { m.at = f.session.Record().Position(n) }

// deliver also stores the new position.
func (f sessionSource) deliver(ctx context.Context, m *bookmark, n uint64, write func() error) error {
	if !f.unstored && f.session.MovesBetweenNodes() {
		return f.deliverAnnounced(ctx, m, n, write)
	}
	if write() == nil {
		f.movePosition(m, n)
	}
	if !f.unstored {
		m.store(f.session, f.token)
	}
	return nil
}

// deliverAnnounced tells the other nodes of a cluster the new position before it writes the answer.
func (f sessionSource) deliverAnnounced(ctx context.Context, m *bookmark, n uint64, write func() error) error {
	at, name := f.session.Record().Position(n), markName(f.token)
	err := f.session.AnnounceReaderPosition(ctx, name, at)
	if err != nil || write() != nil {
		f.session.WithdrawReaderPosition(name, at)
		return err
	}
	m.at = at
	f.session.ConfirmReaderPosition(name, at)
	return nil
}

// ended is also true while this portal stops: only another one can continue the session. A session that another process has taken over is
// closed only as this process had it.
func (f sessionSource) ended(ctx context.Context) bool {
	switch {
	case f.host.Stopping():
		return true
	case f.session.Info().State != copilot.StateClosed:
		return false
	case !f.session.IsEvicted():
		return true
	}
	now, err := f.host.Session(ctx, f.session.ID())
	return err != nil || now.Info().State == copilot.StateClosed
}

// jobSource is the record of a job or task.
type jobSource struct {
	record interface {
		Reader(after uint64) *follow.Reader[jobs.Event]
	}
}

func (f jobSource) start(_ context.Context, m *bookmark) (*follow.Reader[jobs.Event], error) {
	return f.record.Reader(m.at.N), nil
}

func (f jobSource) encode(m *bookmark, e jobs.Event) (n uint64, response any) {
	return e.Number, m.encodeJob(e.Body)
}

// interrupted is the error of a job whose portal ended.
const interrupted = "the portal ended in the middle of the job, which can be continued"

// encodeJob encodes an event for readers of a job or task. An interruption has no callback
// of its own; without an earlier error it is sent as one.
func (m *bookmark) encodeJob(b jobs.Body) any {
	reported := m.fault
	m.fault = false
	switch b := b.(type) {
	case jobs.TaskError:
		return b
	case jobs.JobError:
		m.fault = true
		return b
	case jobs.JobInterrupted:
		if !reported {
			return jobs.JobError{Error: interrupted}
		}
		return nil
	}
	if jobs.Callback(b) == "" {
		return nil
	}
	return jobCallback{b}
}

func (jobSource) movePosition(m *bookmark, n uint64) { m.at.N = n }
func (jobSource) ended(context.Context) bool         { return true }

// deliver keeps the position in memory only.
func (f jobSource) deliver(_ context.Context, m *bookmark, n uint64, write func() error) error {
	if write() == nil {
		f.movePosition(m, n)
	}
	return nil
}

// jobCallback is an event with its callback.
type jobCallback struct{ jobs.Body }

// MarshalJSON writes the name of the callback before the keys of the event.
func (c jobCallback) MarshalJSON() ([]byte, error) {
	name, err := jsonrpc.Encode(jobs.Callback(c.Body))
	if err != nil {
		return nil, err
	}
	body, err := jsonrpc.Encode(c.Body)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"callback":`), name...)
	if keys := body[len("{"):]; len(keys) > len("}") {
		return append(append(b, ','), keys...), nil
	}
	return append(b, '}'), nil
}
