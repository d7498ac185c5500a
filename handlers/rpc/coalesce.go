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
	if len(messages) == 1 && messages[0].isDelta() {
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

// join returns two deltas of the same text as one; ok is false if they are not.
func join(m, next message) (joined message, ok bool) {
	if !m.isDelta() || !next.isDelta() || m.delta.of != next.delta.of || m.delta.agent != next.delta.agent {
		return message{}, false
	}
	m.delta.content += next.delta.content
	m.shared = false
	return m, true
}
