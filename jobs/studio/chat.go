package studio

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// suggestions is the language of the block at the end of an answer.
const suggestions = "suggestions"

// maxTabs is the maximum number of conversations; the least recently used one makes room.
const maxTabs = 100

// ChatRequest is a message of a conversation.
type ChatRequest struct {
	Message               string
	HasSpec, HasInterface bool // what the user has open
}

// Chatted is an answer.
type Chatted struct {
	Message     string
	Suggestions []string // what the user might say or do next
}

// conversationTab is a conversation.
type conversationTab struct {
	name   any
	last   *Turn
	reader *follow.SessionReader // of its session; nil before the first message; used by the current turn
}

// Chat answers a message in the conversation of the turn, or in a new one. It passes pieces of the answer to send as they
// arrive, on the caller's goroutine. Errors: kind [fault.Invalid] for an empty message, that of ctx, those of a session
// and its agent.
func (t *Turn) Chat(ctx context.Context, r ChatRequest, send func(piece string)) (Chatted, error) {
	defer t.release()
	if strings.TrimSpace(r.Message) == "" {
		return Chatted{}, fault.Errorf(fault.Invalid, "message: is empty")
	}
	if err := t.wait(ctx); err != nil {
		return Chatted{}, err
	}
	reader, fresh, err := t.conversation(ctx)
	if err != nil {
		return Chatted{}, err
	}
	prompt, err := write("chat", map[string]any{"Request": r, "First": fresh})
	if err != nil {
		return Chatted{}, err
	}
	if err := t.host.fits(ctx, prompt); err != nil {
		return Chatted{}, err
	}
	before := codeExtractor{before: true, word: suggestions}
	text, err := sendPrompt(ctx, reader, prompt, func(piece string) {
		if piece = before.write(piece); piece != "" {
			send(piece)
		}
	})
	if err != nil {
		return Chatted{}, err
	}
	return chatted(text), nil
}

// tab returns a conversation and creates it if necessary. The caller must hold the lock.
func (h *Host) tab(name any) *conversationTab {
	at := slices.IndexFunc(h.tabs, func(t *conversationTab) bool { return t.name == name })
	t := &conversationTab{name: name}
	if at >= 0 {
		t = h.tabs[at]
		h.tabs = slices.Delete(h.tabs, at, at+1)
	}
	h.tabs = append(h.tabs, t)
	if len(h.tabs) > maxTabs {
		h.tabs = slices.Delete(h.tabs, 0, 1) // its session is suspended when idle
	}
	return t
}

// conversation returns a reader of the session of the turn's conversation; fresh reports that it is new. A closed session is resumed, a
// deleted one replaced.
func (t *Turn) conversation(ctx context.Context) (reader *follow.SessionReader, fresh bool, err error) {
	if t.tab != nil && t.tab.reader != nil {
		s, err := t.host.options.Sessions.Session(ctx, t.tab.reader.Session().ID())
		if err == nil {
			t.tab.reader = t.host.reader(s)
			return t.tab.reader, false, s.Resume(ctx)
		}
		if !errors.Is(err, fault.ErrSessionNotFound) {
			return nil, false, err
		}
	}
	reader, err = t.host.open(ctx, "Chat", t.host.options.Policy)
	if err == nil && t.tab != nil {
		t.tab.reader = reader
	}
	return reader, true, err
}

// chatted separates an answer from the block of suggestions.
func chatted(text string) (c Chatted) {
	message, rest, _ := strings.Cut("\n"+text, "\n"+mark+suggestions)
	c.Message = strings.TrimSpace(message)
	block, _, _ := strings.Cut(rest, "\n"+mark)
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- ")); line != "" {
			c.Suggestions = append(c.Suggestions, line)
		}
	}
	return c
}
