package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Conversation validates the messages of a connection in both directions. Tests may send invalid messages: a request is validated once it
// has succeeded, and see [Conversation.MaySendInvalid] for results. A conversation is safe for concurrent use.
type Conversation struct {
	tb      testing.TB
	dialect *Dialect

	mu    sync.Mutex
	asked [2]map[string]request // by the sender, then by id
	ended bool                  // the test can no longer fail
	loose bool                  // the client may send invalid messages
}

// request is a request that has no response yet.
type request struct {
	method string
	params any
}

// The senders of messages.
const (
	fromClient = iota
	fromPortal
)

// Talk returns a conversation of the dialect of a path, /rpc or /ui, or of "cli".
func Talk(tb testing.TB, path string) *Conversation {
	tb.Helper()
	d, err := map[string]func() (*Dialect, error){"/rpc": RPC, "/ui": UI, "cli": CLI}[path]()
	if err != nil {
		tb.Fatal(err)
	}
	c := &Conversation{tb: tb, dialect: d, asked: [2]map[string]request{{}, {}}}
	tb.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
	})
	return c
}

// MaySendInvalid allows the client to send invalid messages that the portal accepts, from now on.
func (c *Conversation) MaySendInvalid() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loose = true
}

// Sent validates what the client sends: a message or a batch. Call it before sending.
func (c *Conversation) Sent(frame []byte) { c.tb.Helper(); c.take(fromClient, frame) }

// Received validates what the client has received: a message or a batch.
func (c *Conversation) Received(frame []byte) { c.tb.Helper(); c.take(fromPortal, frame) }

// SentLines and ReceivedLines take messages, one per line, for [io.MultiWriter] and [io.TeeReader].
func (c *Conversation) SentLines() io.Writer { return &lines{take: c.Sent} }

// ReceivedLines is described at [Conversation.SentLines].
func (c *Conversation) ReceivedLines() io.Writer { return &lines{take: c.Received} }

// lines divides what is written to it.
type lines struct {
	take func(line []byte)
	rest []byte
}

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, complete := bytes.Cut(l.rest, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		l.rest = rest
		l.take(line)
	}
}

func (c *Conversation) take(from int, frame []byte) {
	c.tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if err := c.check(from, frame); err != nil {
		c.tb.Errorf("spec/%s: %v", c.dialect.name, err)
	}
}

// check validates a frame. Only the portal must send valid JSON.
func (c *Conversation) check(from int, frame []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(frame))
	if err != nil {
		if from == fromClient {
			return nil
		}
		return fmt.Errorf("the portal sent no JSON: %.500q", frame)
	}
	batch, ok := value.([]any)
	if !ok {
		batch = []any{value}
	}
	for _, message := range batch {
		if err := c.checkMessage(from, message); err != nil {
			text, _ := json.Marshal(message)
			return fmt.Errorf("%.1000s: %w", text, err)
		}
	}
	return nil
}

func (c *Conversation) checkMessage(from int, message any) error {
	object, _ := message.(map[string]any)
	method, called := object["method"].(string)
	id, hasID := object["id"]
	switch {
	case called && hasID:
		c.asked[from][key(id)] = request{method, object["params"]}
	case called, object == nil:
	default:
		of := c.asked[1-from][key(id)]
		delete(c.asked[1-from], key(id))
		return c.checkResponse(from, message, of)
	}
	if from == fromClient {
		return nil
	}
	return c.dialect.CheckCall(message)
}

func (c *Conversation) checkResponse(from int, message any, of request) error {
	if from == fromClient {
		if c.loose {
			return nil
		}
		return c.dialect.CheckAnswer(message, of.method)
	}
	if err := c.dialect.CheckResponse(message, of.method); err != nil || c.loose || member(message, "error") != nil {
		return err
	}
	return c.dialect.CheckRequest(of.method, of.params)
}

// key returns an id as text. The number 1 and the text "1" are different ids.
func key(id any) string {
	text, _ := json.Marshal(id)
	return string(text)
}
