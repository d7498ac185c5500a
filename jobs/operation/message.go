package operation

import "time"

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

// Message is one message of an operation. Readers share it and must not change it.
type Message struct {
	Sequence   int // 0, 1, 2 … without holes
	Type       MessageType
	Content    string
	Time       time.Time
	Sender     string // "copilot" or "system"
	Subsection string
	Priority   string
	ID         string
	Frame      []byte // the message as JSON of the contract, encoded once
}
