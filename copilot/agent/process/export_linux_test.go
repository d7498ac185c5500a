package process

import "time"

// Owner is how a process is named as the owner of what it starts.
func Owner(pid int) string { return ownerOf(pid) }

// EndOrphansBut ends what killed portals left running, and names it.
func EndOrphansBut(family string) []string { return endOrphans(family) }

// ParseStat reads a line of /proc/<pid>/stat and gives the start time.
func ParseStat(line []byte) (start string, ok bool) {
	s, ok := parseStat(line)
	if !ok {
		return "", false
	}
	return s.field(statStartTime), true
}

// IsOrphan says whether a process would be ended.
func IsOrphan(pid int, family string) bool { return isOrphan(pid, family) }

// Deeds are what a process has done.
type Deeds struct{ Used, Family, Youngest time.Duration }

// ShowWork says whether a process has worked within ten seconds in which it was
// silent. Youngest is how long after the CLI's last word a child was started.
func (e Deeds) ShowWork() bool {
	then := Activity{at: time.Unix(1000, 0), known: true}
	now := Activity{at: then.at.Add(10 * time.Second), known: true, used: e.Used, family: e.Family}
	if e.Youngest != 0 {
		now.youngest = then.at.Add(e.Youngest)
	}
	return now.Since(then, then.at)
}
