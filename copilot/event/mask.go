package event

import (
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot/secret"
)

// Masker masks credentials in a record. What the policy reads, what the agent receives and the arguments of client
// tools stay unmasked.
type Masker struct {
	texts map[string]*maskedText // unfinished texts by their group
}

// maskedText is a text that arrives in pieces.
type maskedText struct {
	secret.Stream
	agent string
	first Body // its first delta
	cut   bool // its run has ended; the rest is dropped until the next one ends, because it may belong to a credential
}

// Mask returns a body without credentials, or nil for a piece of text that must be held back.
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

// HeldBack returns the held back pieces of texts that a body ends: its own, or at the end of a run all of them.
func (m *Masker) HeldBack(b Body) []Event {
	if _, over := b.(RunEnded); over {
		return m.cut()
	}
	if key, end := Group(Event{Body: b}); end {
		return m.close(key)
	}
	if t := m.texts[startKey(b)]; t != nil && t.cut { // another text with the same id
		delete(m.texts, startKey(b))
	}
	return nil
}

// cut ends all texts and forgets those of the run before.
func (m *Masker) cut() (events []Event) {
	maps.DeleteFunc(m.texts, func(_ string, t *maskedText) bool { return t.cut })
	for _, key := range slices.Sorted(maps.Keys(m.texts)) {
		t := m.texts[key]
		events = append(events, t.flush()...)
		t.cut = true
	}
	return events
}

func (m *Masker) close(key string) []Event {
	t := m.texts[key]
	if t == nil {
		return nil
	}
	delete(m.texts, key)
	return t.flush()
}

// flush returns the held back piece, if there is one.
func (t *maskedText) flush() []Event {
	rest := t.Close()
	if rest == "" {
		return nil
	}
	return []Event{{Agent: t.agent, Body: withText(t.first, rest)}}
}

// MaskPrompt returns a prompt without credentials.
func MaskPrompt(p Prompt) Prompt {
	p.visit(visitor{purpose: masking})
	return p
}
