package rest

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/jobs"
)

// sessionSource is the record of a session, for the reader of a token.
type sessionSource struct {
	host    *copilot.Host
	session *copilot.Session
	token   string
}

// start may fail: what the reader was told in another life of the session may not
// stand in the record any more.
func (f sessionSource) start(ctx context.Context, m *bookmark) (*follow.Reader[follow.Entry], error) {
	if err := m.restore(ctx, f.session, f.token); err != nil {
		return nil, err
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

// encodeSinceFirstQuery is what the reader of live without a token is told: nothing that was before
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

// encodeAll is what the reader of a token is told. In the past a complete text
// stands for its pieces; what came since is handed out piece by piece.
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

// includes says whether an entry is told. Pieces of a text are, all of them or none: a
// text that ends while its past is being told would have a hole else.
func (m *bookmark) includes(e follow.Entry) bool {
	key, isPiece := "", true
	switch b := e.Value.Body.(type) {
	case event.ReasoningDelta:
		key = "reasoning " + b.ID
	case event.MessageDelta:
		key = "message " + b.ID
	case event.ToolOutput:
		key = "tool " + b.ID
	case event.RunEnded:
		m.texts, isPiece = nil, false
	default:
		isPiece = false
	}
	if !isPiece {
		return true
	}
	told, known := m.texts[key]
	if !known {
		told = !e.Superseded || e.N > m.past
		if m.texts == nil {
			m.texts = map[string]bool{}
		}
		m.texts[key] = told
	}
	return told
}

func (f sessionSource) movePosition(m *bookmark, n uint64) { m.at = f.session.Record().Position(n) }
func (f sessionSource) savePosition(m *bookmark)           { m.store(f.session, f.token) }

// ended is also true of a session that only another portal can go on with.
func (f sessionSource) ended() bool {
	return f.session.Info().State == copilot.StateClosed || f.host.Stopping()
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

// interrupted is what a job's readers are told that its portal did not live to end.
const interrupted = "the portal ended in the middle of the job, which can be continued"

// encodeJob is what readers of a job or task are told. An interruption has no callback
// of its own; if nothing else says what went wrong, it does.
func (m *bookmark) encodeJob(b jobs.Body) any {
	told := m.fault
	m.fault = false
	switch b := b.(type) {
	case jobs.TaskError:
		return b
	case jobs.JobError:
		m.fault = true
		return b
	case jobs.JobInterrupted:
		if !told {
			return jobs.JobError{Error: interrupted}
		}
		return nil
	}
	if b.Callback() == "" {
		return nil
	}
	return called{b}
}

func (jobSource) movePosition(m *bookmark, n uint64) { m.at.N = n }
func (jobSource) savePosition(*bookmark)             {} // it lives as long as the portal
func (jobSource) ended() bool                        { return true }

// called is an event with its callback.
type called struct{ jobs.Body }

// MarshalJSON writes the name of the callback before the keys of the event.
func (c called) MarshalJSON() ([]byte, error) {
	name, err := marshal(c.Callback())
	if err != nil {
		return nil, err
	}
	body, err := marshal(c.Body)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"callback":`), name...)
	if keys := body[len("{"):]; len(keys) > len("}") {
		return append(append(b, ','), keys...), nil
	}
	return append(b, '}'), nil
}
