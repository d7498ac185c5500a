package event

import "time"

// FormatTime formats a time as all dialects do: in UTC, with milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
