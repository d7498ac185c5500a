package ndjson

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// The kinds of notices.
const (
	noticeSuggestions = "portal.suggestions" // the program's suggestions for the next prompt: {"suggestions": [text]}
	noticeRetry       = "portal.retry"       // a prompt is sent to the program again: {"attempt", "error", "seconds"}
)

// turn is the work on a prompt.
type turn struct {
	conversation *conversation
	number       int
	cancel       context.CancelFunc

	// Guarded by the conversation's lock.
	attempt int    // of the open message; 0 if there is none
	text    string // of the open message
}

// perform sends the prompt to the program and reports the answer. It does not report the end of the program.
func (t *turn) perform(ctx context.Context, text string) {
	c := t.conversation
	t.emit(event.TurnStarted{ID: t.id(0)})
	r, err := c.agent.chat(ctx, c.tab, text, t.chunk, t.failed)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.turn != t || c.agent.link.IsOver():
		return
	case err != nil:
		t.emitLocked(event.NewSessionError(err))
	default:
		t.answered(r)
	}
	t.end(event.Idle{})
}

// id returns the id of the turn, or of the message of an attempt.
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

// emitLocked sends an event to the session unless the prompt has ended. The caller holds the lock.
func (t *turn) emitLocked(b event.Body) {
	if t.conversation.turn == t && !t.conversation.agent.link.IsOver() {
		t.conversation.sink("", b)
	}
}

// end ends the prompt. The caller holds the lock.
func (t *turn) end(i event.Idle) {
	t.emitLocked(event.TurnEnded{ID: t.id(0)})
	t.emitLocked(i)
	t.conversation.turn = nil
}

// chunk reports a piece of the answer.
func (t *turn) chunk(attempt int, text string) {
	t.conversation.mu.Lock()
	defer t.conversation.mu.Unlock()
	t.emitText(attempt, text)
}

// emitText reports a piece of a message. The caller holds the lock.
func (t *turn) emitText(attempt int, text string) {
	if text == "" {
		return
	}
	if t.attempt != attempt {
		t.attempt, t.text = attempt, ""
		t.emitLocked(event.MessageStarted{ID: t.id(attempt)})
	}
	t.text += text
	t.emitLocked(event.MessageDelta{ID: t.id(attempt), Text: text})
}

// endMessageEmpty ends the open message with an empty text, which retracts its deltas. The caller holds the lock.
func (t *turn) endMessageEmpty() {
	if t.attempt > 0 {
		t.emitLocked(event.MessageEnded{ID: t.id(t.attempt)})
	}
	t.attempt, t.text = 0, ""
}

// failed reports a failed attempt and retracts its text.
func (t *turn) failed(attempt int, err error, again bool, wait time.Duration) {
	t.conversation.mu.Lock()
	defer t.conversation.mu.Unlock()
	t.endMessageEmpty()
	if again {
		t.conversation.agent.link.log.Warn("sending the prompt to the agent's program again", "attempt", attempt+1, "in", wait, "err", err)
		t.notice(noticeRetry, map[string]any{"attempt": attempt + 1, "error": err.Error(), "seconds": wait.Seconds()})
	}
}

func (t *turn) notice(kind string, value any) {
	raw, _ := json.Marshal(value) // never fails for strings and numbers
	t.emitLocked(event.Notice{Kind: kind, Raw: raw})
}

// answered reports the whole answer. If it differs from the chunks, it becomes a new message, and the old one is
// retracted. The caller holds the lock.
func (t *turn) answered(r chatResult) {
	rest, goesOn := strings.CutPrefix(r.Message, t.text)
	switch {
	case goesOn:
	case strings.TrimSpace(t.text) == strings.TrimSpace(r.Message):
		rest = ""
	default:
		t.endMessageEmpty()
		rest = r.Message
	}
	attempt := t.attempt
	if attempt == 0 {
		attempt = 10 // more than the attempts of any method
	}
	t.emitText(attempt, rest)
	t.emitLocked(event.MessageEnded{ID: t.id(attempt), Text: r.Message})
	if len(r.Suggestions) > 0 {
		t.notice(noticeSuggestions, map[string]any{"suggestions": r.Suggestions})
	}
}

// message returns a prompt as one text, with the attached texts.
func (a *Agent) message(p event.Prompt) (string, error) {
	if p.Mode != "" && p.Mode != event.ModeInteractive {
		return "", a.Cannot(agent.Modes.Operation())
	}
	var texts strings.Builder
	for _, f := range p.Attachments {
		if f.Data != nil || f.Text == "" {
			return "", a.Cannot(agent.Attachments.Operation())
		}
		texts.WriteString("\n\n" + f.Fenced())
	}
	return p.Text + texts.String(), nil
}
