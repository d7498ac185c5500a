package studio

import (
	"context"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot"
)

// suggestions is the word for the block that an answer ends with.
const suggestions = "suggestions"

// maxTabs is how many conversations are kept; the one that was used least lately makes room.
const maxTabs = 100

// ChatRequest is a message to the studio in general.
type ChatRequest struct {
	Message string
	Tab     string // the conversation that it belongs to, whatever name its client gives it
	// HasSpec and HasInterface say what the user has open.
	HasSpec, HasInterface bool
}

// Chatted is an answer.
type Chatted struct {
	Message     string
	Suggestions []string // what the user might say or do next
}

// tab is a conversation.
type tab struct {
	name string
	turn chan struct{} // holds a token while it answers: its messages are answered in order
	talk *talk         // nil before the first message
}

// Chat answers a message. Pieces of the answer go to tell as they come, from the goroutine of the caller. Errors: kind
// [copilot.Invalid] for a message that says nothing, [ErrBusy], those of a session and its agent.
func (h *Host) Chat(ctx context.Context, r ChatRequest, tell func(piece string)) (Chatted, error) {
	if strings.TrimSpace(r.Message) == "" {
		return Chatted{}, copilot.Errorf(copilot.Invalid, "message: says nothing")
	}
	t := h.tab(r.Tab)
	leave, err := h.enter(ctx, t.turn)
	if err != nil {
		return Chatted{}, err
	}
	defer leave()
	if err := h.awaken(ctx, t); err != nil {
		return Chatted{}, err
	}
	prompt, err := write("chat", map[string]any{"Request": r})
	if err != nil {
		return Chatted{}, err
	}
	before := fence{before: true, word: suggestions}
	text, err := t.talk.say(ctx, prompt, func(piece string) {
		if piece = before.feed(piece); piece != "" {
			tell(piece)
		}
	})
	if err != nil {
		return Chatted{}, err
	}
	return chatted(text), nil
}

// tab finds a conversation, or begins one.
func (h *Host) tab(name string) *tab {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(h.tabs, func(t *tab) bool { return t.name == name })
	t := &tab{name: name, turn: make(chan struct{}, 1)}
	if at >= 0 {
		t = h.tabs[at]
		h.tabs = slices.Delete(h.tabs, at, at+1)
	}
	h.tabs = append(h.tabs, t)
	if len(h.tabs) > maxTabs {
		h.tabs = h.tabs[1:] // its session is put at rest by itself
	}
	return t
}

// awaken makes a conversation ready for a message. One whose session was closed by somebody goes on in it.
func (h *Host) awaken(ctx context.Context, t *tab) (err error) {
	if t.talk == nil {
		t.talk, err = h.open(ctx, "Chat", h.options.Policy)
		return err
	}
	return t.talk.session.Resume(ctx)
}

// chatted takes suggestions out of an answer: the lines of the block of that name.
func chatted(text string) (c Chatted) {
	message, rest, _ := strings.Cut(text, mark+suggestions+"\n")
	c.Message = strings.TrimSpace(message)
	block, _, _ := strings.Cut(rest, mark)
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")); line != "" {
			c.Suggestions = append(c.Suggestions, line)
		}
	}
	return c
}
