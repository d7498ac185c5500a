package operation

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// MessageType is the category of a [Message].
type MessageType string

// The types of recorded messages. Notices for a single connection have the type "system" and are not
// recorded.
const (
	Thinking  MessageType = "thinking"
	Execution MessageType = "execution"
	Error     MessageType = "error"
	Complete  MessageType = "complete"
)

// The senders of messages.
const (
	SenderCopilot = "copilot" // output and actions of the agent
	SenderSystem  = "system"  // messages of the portal
)

// PriorityHigh is the priority of errors.
const PriorityHigh = "high"

// Message is one message of an operation. Readers share it and must not modify it.
type Message struct {
	Sequence   int // 0, 1, 2 … without gaps
	Type       MessageType
	Content    string // at most [MaxContent] bytes
	Time       time.Time
	Sender     string // [SenderCopilot] or [SenderSystem]
	Subsection string
	Priority   string
	Request    string // id of the question that it reports, for [Operation.Answer]
	Closes     string // id of the question whose end it reports
	ID         string
	Frame      []byte // encoded once as JSON (spec/contracts/websocket.md, "Full Message Structure")

	scopes []permission.Scope // possible scopes of the answer; only in the frame
}

// frame is the wire format of a message.
type frame struct {
	ID        string      `json:"id"`
	Operation string      `json:"operation_id"`
	Sequence  int         `json:"sequence"`
	Type      MessageType `json:"type"`
	Content   string      `json:"content"`
	Timestamp string      `json:"timestamp"`
	Sender    string      `json:"sender"`
	Metadata  *metadata   `json:"metadata,omitempty"`
}

type metadata struct {
	Subsection string  `json:"subsection,omitempty"`
	Priority   string  `json:"priority,omitempty"`
	Request    string  `json:"request_id,omitempty"`
	Scopes     []scope `json:"scopes,omitempty"`
	Closes     string  `json:"closes_request_id,omitempty"`
}

// scope is the wire format of a [permission.Scope].
type scope struct {
	Kind  permission.ScopeKind `json:"kind"`
	Rules []string             `json:"rules"`
	Label string               `json:"label"`
}

// numbered returns the message with its position in an operation, encoded.
func (m Message) numbered(operation string, sequence int, at time.Time) Message {
	m.Sequence, m.Time, m.ID = sequence, at, uuid.NewString()
	if m.Type == Error {
		m.Priority = PriorityHigh
	}
	m.Frame = m.encode(operation)
	m.scopes = nil
	return m
}

func (m Message) encode(operation string) []byte {
	f := frame{
		ID: m.ID, Operation: operation, Sequence: m.Sequence, Type: m.Type, Content: m.Content,
		Timestamp: event.FormatTime(m.Time), Sender: m.Sender,
	}
	if m.Subsection != "" || m.Priority != "" || m.Request != "" || m.Closes != "" {
		f.Metadata = &metadata{Subsection: m.Subsection, Priority: m.Priority, Request: m.Request, Closes: m.Closes}
		for _, s := range m.scopes {
			f.Metadata.Scopes = append(f.Metadata.Scopes, scope(s))
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(f) // strings and a number always encode
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// decode decodes a stored message.
func decode(line []byte) (Message, error) {
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return Message{}, err
	}
	m := Message{Sequence: f.Sequence, Type: f.Type, Content: f.Content, Sender: f.Sender, ID: f.ID, Frame: line}
	if f.Metadata != nil {
		m.Subsection, m.Priority, m.Request, m.Closes = f.Metadata.Subsection, f.Metadata.Priority, f.Metadata.Request, f.Metadata.Closes
	}
	var err error
	m.Time, err = time.Parse(event.TimeLayout, f.Timestamp)
	return m, err
}
