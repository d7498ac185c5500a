package rpc

import "github.com/copilot-portal/portal/copilot/journal"

// coalescer joins adjacent deltas of one text into one event with the position of the last. It is for clients that ask for an
// interval between events.
type coalescer struct {
	eventWriter

	at     journal.Position
	joined []message // the deltas so far as one event; none if empty
}

func (c *coalescer) add(at journal.Position, messages []message) error {
	if len(messages) == 0 {
		return nil
	}
	if len(c.joined) == 1 && len(messages) == 1 {
		if m, ok := join(c.joined[0], messages[0]); ok {
			c.at, c.joined[0] = at, m
			return nil
		}
	}
	if err := c.drain(); err != nil {
		return err
	}
	if len(messages) == 1 && isDelta(messages[0]) {
		c.at, c.joined = at, append(c.joined, messages[0])
		return nil
	}
	return c.eventWriter.add(at, messages)
}

// drain adds the joined deltas to the output.
func (c *coalescer) drain() error {
	if len(c.joined) == 0 {
		return nil
	}
	err := c.eventWriter.add(c.at, c.joined)
	c.joined = c.joined[:0]
	return err
}

func (c *coalescer) flush() error {
	if err := c.drain(); err != nil {
		return err
	}
	return c.eventWriter.flush()
}

// isDelta reports whether an event is a piece of a text.
func isDelta(m message) bool {
	text, isText := m.data.(timelineMessage)
	_, isOutput := m.data.(toolOutput)
	return isOutput || isText && text.Delta
}

// join returns two deltas of the same text as one; ok is false if they are not.
func join(m, next message) (joined message, ok bool) {
	switch a := m.data.(type) {
	case timelineMessage:
		b, isText := next.data.(timelineMessage)
		rest := b.Content
		if b.Content = a.Content; !isText || !a.Delta || a != b {
			return message{}, false
		}
		a.Content += rest
		m.data = a
	case toolOutput:
		b, isOutput := next.data.(toolOutput)
		if !isOutput || a.CallID != b.CallID {
			return message{}, false
		}
		a.Content += b.Content
		m.data = a
	default:
		return message{}, false
	}
	m.shared = false
	return m, true
}
