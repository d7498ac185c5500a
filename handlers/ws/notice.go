package ws

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/event"
)

// Sequences of notices, which are not numbered among the messages.
const (
	noticeConnected   = -1
	noticeReconnected = -2
	noticeAlive       = -1
	noticeSkipped     = -3
)

// connectionNotice encodes a notice for one connection.
func connectionNotice(id string, sequence int, content string) []byte {
	frame, _ := json.Marshal(struct { // cannot fail
		ID        string `json:"id"`
		Operation string `json:"operation_id"`
		Sequence  int    `json:"sequence"`
		Type      string `json:"type"`
		Content   string `json:"content"`
		Time      string `json:"timestamp"`
		Sender    string `json:"sender"`
	}{uuid.NewString(), id, sequence, "system", content, event.FormatTime(time.Now()), "system"})
	return frame
}

func skipNotice(id string, n int) []byte {
	return connectionNotice(id, noticeSkipped, fmt.Sprintf("Skipped %d %s of thinking: this connection is too slow.", n, plural(n)))
}

// greeting returns the first notice of a connection and sets the position from which it continues.
func (w *watch) greeting() []byte {
	last := w.operation.Last()
	w.replay = last
	missed := last - w.at
	switch {
	case w.at < 0:
		return connectionNotice(w.id, noticeConnected, "Connected to operation "+w.id)
	case missed < 0:
		text := fmt.Sprintf("Reconnected. There is no message %d here", w.at)
		w.at = -1
		if last < 0 {
			return connectionNotice(w.id, noticeReconnected, text+", and no other yet.")
		}
		return connectionNotice(w.id, noticeReconnected, fmt.Sprintf("%s; the last is %d. Replaying all from the beginning (%s)...", text, last, span(0, last)))
	case missed == 0:
		return connectionNotice(w.id, noticeReconnected, "Reconnected. No messages were missed.")
	}
	return connectionNotice(w.id, noticeReconnected, fmt.Sprintf("Reconnected. Replaying %d missed %s (%s)...", missed, plural(missed), span(w.at+1, last)))
}

func plural(n int) string {
	if n == 1 {
		return "message"
	}
	return "messages"
}

func span(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
