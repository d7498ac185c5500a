package ui

import (
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
)

// cursor is a position in a record as UIs keep it: the UI has everything up to the position, and
// perhaps the first messages of the next entry. Messages depend on their run, so the cursor knows
// where that began.
type cursor struct {
	journal.Position
	begun uint64 // 0 between runs
	sent  int    // how many messages of the next entry the UI has
}

// newest returns the position of the newest entry of which the UI has a message. A record that has lost it may have another
// one with the same number.
func (c cursor) newest() journal.Position {
	if c.sent > 0 {
		return journal.Position{Epoch: c.Epoch, N: c.N + 1}
	}
	return c.Position
}

func (c cursor) String() string {
	text := c.Position.String() + "." + strconv.FormatUint(c.begun, 10)
	if c.sent > 0 {
		text += "." + strconv.Itoa(c.sent)
	}
	return text
}

// parseCursor parses the output of [cursor.String], and nothing else.
func parseCursor(text string) (c cursor, err error) {
	parts := strings.Split(text, ".")
	if len(parts) > 1 {
		c.begun, _ = strconv.ParseUint(parts[1], 10, 64) // an error shows in the comparison below
	}
	if len(parts) > 2 {
		c.sent, _ = strconv.Atoi(parts[2])
	}
	c.Position, err = journal.ParsePosition(parts[0])
	if err != nil || c.begun > c.N || c.sent < 0 || c.String() != text {
		return cursor{}, fault.Errorf(fault.Invalid, "%.50q is not a cursor of this portal", text)
	}
	return c, nil
}
