package process

import "time"

// Owner returns the owner mark of a process.
func Owner(pid int) string { return ownerOf(pid) }

// EndOrphansBut ends what killed portals left running and returns the names.
func EndOrphansBut(family string) []string { return endOrphans(family) }

// ParseStat parses a line of /proc/<pid>/stat and returns the start time.
func ParseStat(line []byte) (start string, ok bool) {
	s, ok := parseStat(line)
	if !ok {
		return "", false
	}
	return s.field(statStartTime), true
}

// IsOrphan reports whether a process would be ended.
func IsOrphan(pid int, family string) bool { return isOrphan(pid, family) }

// Usage describes the activity of a process.
type Usage struct{ Used, Family, Youngest time.Duration }

// ShowsWork reports whether a process has worked within ten silent seconds. Youngest is when a child was started, after
// the last output.
func (e Usage) ShowsWork() bool {
	then := Activity{at: time.Unix(1000, 0), known: true}
	now := Activity{at: then.at.Add(10 * time.Second), known: true, used: e.Used, family: e.Family}
	if e.Youngest != 0 {
		now.youngest = then.at.Add(e.Youngest)
	}
	return now.Since(then, then.at)
}
