package demo

import (
	"strconv"
	"strings"
	"time"
)

const longestWait = time.Hour

// parseCount reads a whole number that may have thousands separators.
func parseCount(s string) (int, error) {
	return strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(s))
}

// duration takes a time such as "2 s", "2s" or "1.5 minutes". Without a unit these are seconds.
func (r *reader) duration() (time.Duration, verdict) {
	number, unit := splitUnit(r.peek(0).plain())
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, prose
	}
	r.take()
	if unit == "" && unitOf(r.peek(0).plain()) > 0 {
		unit = r.take().plain()
	}
	if unit == "" {
		unit = "s"
	}
	scale := unitOf(unit)
	if scale == 0 || n < 0 || n > float64(longestWait/scale) {
		return 0, unfinished
	}
	return time.Duration(n * float64(scale)), complete
}

// splitUnit parts "2s" into "2" and "s".
func splitUnit(s string) (number, unit string) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// unitOf is the length of a unit of time, or 0 when it is none.
func unitOf(s string) time.Duration {
	switch s {
	case "ms", "millisecond", "milliseconds":
		return time.Millisecond
	case "s", "sec", "second", "seconds":
		return time.Second
	case "m", "min", "minute", "minutes":
		return time.Minute
	case "h", "hour", "hours":
		return time.Hour
	default:
		return 0
	}
}
