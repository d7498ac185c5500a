package ndjson

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// The kinds of notices.
const (
	// NoticeSuggestions is what the program suggests to say next: {"suggestions": [text]}.
	NoticeSuggestions = "portal.suggestions"
	// NoticeRetry says that a prompt is given to the program again: {"attempt", "error", "seconds"}.
	NoticeRetry = "portal.retry"
)

// turn is the work on a prompt.
type turn struct {
	conversation *conversation
	number       int
	cancel       context.CancelFunc

	// Used with the conversation's lock held.
	attempt int    // of the message that is open; 0 if none is
	said    string // of it
}

// perform asks the program, and tells what it says. Of the end of the program
// nothing is told.
func (t *turn) perform(ctx context.Context, text string) {
	c := t.conversation
	t.emit(event.TurnStarted{ID: t.id(0)})
	var r ChatResult
	err := c.agent.client.call(ctx, call{
		method: chat, tab: c.tab, chunk: t.chunk, failed: t.failed,
		params: ChatParams{Message: text, Context: ChatContext{TabID: c.tab}},
	}, &r)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.turn != t || c.agent.link.isOver():
		return
	case err != nil:
		t.emitLocked(event.SessionError{Kind: fault.KindOf(err), Text: err.Error()})
	default:
		t.answered(r)
	}
	t.end(event.Idle{})
}

// id is that of the turn, or of a message in it: each attempt makes one of its own.
func (t *turn) id(message int) string {
	id := fmt.Sprintf("%s.%d", t.conversation.id, t.number)
	if message > 0 {
		id = fmt.Sprintf("%s.%d", id, message)
	}
	return id
}

func (t *turn) emit(b event.Body) {
	t.conversation.mu.Lock()
	defer t.conversation.mu.Unlock()
	t.emitLocked(b)
}

// emitLocked gives an event to the session unless the prompt has ended. Called
// with the lock held.
func (t *turn) emitLocked(b event.Body) {
	if t.conversation.turn == t && !t.conversation.agent.link.isOver() {
		t.conversation.sink("", b)
	}
}

// end ends the prompt. Called with the lock held.
func (t *turn) end(i event.Idle) {
	t.emitLocked(event.TurnEnded{ID: t.id(0)})
	t.emitLocked(i)
	t.conversation.turn = nil
}

// chunk tells a piece of the answer.
func (t *turn) chunk(k Chunk) {
	t.conversation.mu.Lock()
	defer t.conversation.mu.Unlock()
	t.emitText(k.Attempt, k.Text)
}

// emitText tells a piece of a message. Called with the lock held.
func (t *turn) emitText(attempt int, text string) {
	if text == "" {
		return
	}
	if t.attempt != attempt {
		t.attempt, t.said = attempt, ""
		t.emitLocked(event.MessageStarted{ID: t.id(attempt)})
	}
	t.said += text
	t.emitLocked(event.MessageDelta{ID: t.id(attempt), Text: text})
}

// endMessageEmpty ends the open message without a text, which stands for its deltas.
// Called with the lock held.
func (t *turn) endMessageEmpty() {
	if t.attempt > 0 {
		t.emitLocked(event.MessageEnded{ID: t.id(t.attempt)})
	}
	t.attempt, t.said = 0, ""
}

// failed tells of an attempt that has failed. What it has said does not count.
func (t *turn) failed(attempt int, err error, again bool, wait time.Duration) {
	t.conversation.mu.Lock()
	defer t.conversation.mu.Unlock()
	t.endMessageEmpty()
	if again {
		t.notice(NoticeRetry, map[string]any{"attempt": attempt + 1, "error": err.Error(), "seconds": wait.Seconds()})
	}
}

func (t *turn) notice(kind string, value any) {
	raw, _ := json.Marshal(value) // texts and numbers always can be
	t.emitLocked(event.Notice{Kind: kind, Raw: raw})
}

// answered tells the whole answer, which counts: where the chunks said something
// else, another message takes their place. Called with the lock held.
func (t *turn) answered(r ChatResult) {
	rest, goesOn := strings.CutPrefix(r.Message, t.said)
	switch {
	case goesOn:
	case strings.TrimSpace(t.said) == strings.TrimSpace(r.Message):
		rest = ""
	default:
		t.endMessageEmpty()
		rest = r.Message
	}
	attempt := t.attempt
	if attempt == 0 {
		attempt = policyAttempts + 1 // no attempt has it
	}
	t.emitText(attempt, rest)
	t.emitLocked(event.MessageEnded{ID: t.id(attempt), Text: r.Message})
	if len(r.Suggestions) > 0 {
		t.notice(NoticeSuggestions, map[string]any{"suggestions": r.Suggestions})
	}
}

// policyAttempts is more than the attempts of any method.
const policyAttempts = 9
