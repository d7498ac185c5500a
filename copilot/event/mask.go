package event

import (
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot/secret"
)

// Masker keeps what looks like a credential out of a record. What the policy
// reads, the agent is told and a client's tool is called with stays whole.
type Masker struct {
	texts map[string]*maskedText // those that are still coming, by their group
}

// maskedText is a text that comes in pieces.
type maskedText struct {
	secret.Stream
	agent string
	first Body // its first delta
	cut   bool // its run has ended; what follows is left out, as it may be the rest of a credential
}

// Mask gives a body as it may be shown; nil for a piece of text that has to be
// held back for now.
func (m *Masker) Mask(agent string, b Body) Body {
	if text, ok := deltaText(b); ok {
		return m.write(agent, b, text)
	}
	return visit(b, visitor{purpose: masking})
}

func (m *Masker) write(agent string, b Body, text string) Body {
	key, _ := Group(Event{Body: b})
	t := m.texts[key]
	if t == nil {
		t = &maskedText{agent: agent, first: b}
		if m.texts == nil {
			m.texts = map[string]*maskedText{}
		}
		m.texts[key] = t
	}
	if t.cut {
		return nil
	}
	safe := t.Write(text)
	switch safe {
	case "":
		return nil
	case text:
		return b
	}
	return withText(b, safe)
}

// Owed gives the pieces that were held back of texts that a body ends: its own,
// or at the end of a run all.
func (m *Masker) Owed(b Body) []Event {
	if _, over := b.(RunEnded); over {
		var events []Event
		for _, key := range slices.Sorted(maps.Keys(m.texts)) {
			t := m.texts[key]
			events = append(events, t.flush()...)
			t.cut = true
		}
		return events
	}
	if _, begins := b.(RunStarted); begins {
		clear(m.texts)
	}
	if key, end := Group(Event{Body: b}); end {
		return m.close(key)
	}
	return nil
}

func (m *Masker) close(key string) []Event {
	t := m.texts[key]
	if t == nil {
		return nil
	}
	delete(m.texts, key)
	return t.flush()
}

// flush is the piece that was held back, if there is one.
func (t *maskedText) flush() []Event {
	rest := t.Close()
	if rest == "" {
		return nil
	}
	return []Event{{Agent: t.agent, Body: withText(t.first, rest)}}
}

// MaskPrompt returns a prompt as it may be shown.
func MaskPrompt(p Prompt) Prompt {
	p.visit(visitor{purpose: masking})
	return p
}
