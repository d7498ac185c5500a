package event

import "time"

// TimeLayout is the layout of times in all dialects, which are in UTC, with milliseconds (spec/contracts/websocket.md, "Field Definitions").
const TimeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime formats a time as all dialects do.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeLayout) }
