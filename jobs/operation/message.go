package operation

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/permission"
)

// MessageType is the category of a [Message].
type MessageType string

// The types of messages that are recorded. (Notices to one connection are of the
// type "system" and not recorded.)
const (
	Thinking  MessageType = "thinking"
	Execution MessageType = "execution"
	Error     MessageType = "error"
	Complete  MessageType = "complete"
)

// The senders of messages.
const (
	SenderCopilot = "copilot" // what the agent says and does
	SenderSystem  = "system"  // what the portal says
)

// PriorityHigh is the priority of errors.
const PriorityHigh = "high"

// Message is one message of an operation. Readers share it and must not change it.
type Message struct {
	Sequence   int // 0, 1, 2 … without holes
	Type       MessageType
	Content    string // at most [MaxContent] bytes
	Time       time.Time
	Sender     string // [SenderCopilot] or [SenderSystem]
	Subsection string
	Priority   string
	Request    string // the id of the question that it tells, for [Operation.Answer]
	ID         string
	Frame      []byte // the message as JSON (spec/contracts/websocket.md, "Full Message Structure"), encoded once

	scopes []permission.Scope // that the answer to its question can have; only in its frame
}

// timestamp is the format of times in spec/contracts/websocket.md, "Field Definitions".
const timestamp = "2006-01-02T15:04:05.000Z"

// frame is a message on the wire.
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
}

// scope is a [permission.Scope] on the wire.
type scope struct {
	Kind  permission.ScopeKind `json:"kind"`
	Rules []string             `json:"rules"`
	Label string               `json:"label"`
}

// numbered is the message with its place in an operation, encoded.
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
		Timestamp: m.Time.Format(timestamp), Sender: m.Sender,
	}
	if m.Subsection != "" || m.Priority != "" || m.Request != "" {
		f.Metadata = &metadata{Subsection: m.Subsection, Priority: m.Priority, Request: m.Request}
		for _, s := range m.scopes {
			f.Metadata.Scopes = append(f.Metadata.Scopes, scope(s))
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(f) // it is made of texts and a number
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// decode reads a message as it was stored.
func decode(line []byte) (Message, error) {
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return Message{}, err
	}
	m := Message{Sequence: f.Sequence, Type: f.Type, Content: f.Content, Sender: f.Sender, ID: f.ID, Frame: line}
	if f.Metadata != nil {
		m.Subsection, m.Priority, m.Request = f.Metadata.Subsection, f.Metadata.Priority, f.Metadata.Request
	}
	var err error
	m.Time, err = time.Parse(timestamp, f.Timestamp)
	return m, err
}
