package sdk

import "time"

// NewQuickAck finds a connection by its peer.
func NewQuickAck(address string) *QuickAck { return newQuickAck(address) }

// QuickAck acknowledges what a peer has sent.
type QuickAck = quickAck

// Soon acknowledges what has come so far.
func (a *quickAck) Soon() { a.soon() }

// Close lets the connection go.
func (a *quickAck) Close() { a.close() }

// Owner is how a process is named as the owner of what it starts.
func Owner(pid int) string { return ownerOf(pid) }

// EndOrphans ends what killed portals left running, and names it.
func EndOrphans(family string) []string { return endOrphans(family) }

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

// Effort is what a process has done.
type Effort struct{ Used, Family, Youngest time.Duration }

// Since says whether a process has worked within ten seconds in which it was
// silent. Youngest is how long after the CLI's last word a child was started.
func (e Effort) Since() bool {
	then := effort{at: time.Unix(1000, 0), known: true}
	now := effort{at: then.at.Add(10 * time.Second), known: true, used: e.Used, family: e.Family}
	if e.Youngest != 0 {
		now.youngest = then.at.Add(e.Youngest)
	}
	return now.since(then, then.at)
}
