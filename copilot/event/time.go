package event

import "time"

// TimeLayout is the layout of times in all dialects, which are in UTC, with milliseconds (spec/contracts/websocket.md, "Field Definitions").
const TimeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime formats a time as all dialects do, the zero time as "".
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(TimeLayout)
}
