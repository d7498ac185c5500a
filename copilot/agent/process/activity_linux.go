package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// stat is a line of /proc/<pid>/stat behind the name of the program, which may
// hold anything.
type stat [][]byte

// Fields of stat, as the manual numbers them.
const (
	statState     = 3
	statParent    = 4
	statUser      = 14 // time in the program, in ticks
	statSystem    = 15 // time in the kernel, in ticks
	statChildUser = 16 // the same of children that have ended
	statChildSys  = 17
	statStartTime = 22 // since boot, in ticks
)

func (s stat) field(n int) string { return string(s[n-statState]) }

// tick is the unit of times in /proc, which is the same on all of Linux.
const tick = time.Second / 100

// readStat reads of a process what the kernel tells; false if it is gone.
func readStat(pid int) (stat, bool) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	return parseStat(line)
}

func parseStat(line []byte) (stat, bool) {
	s := stat(bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:]))
	return s, len(s) > statStartTime-statState
}

func (s stat) ticks(field int) time.Duration {
	n, _ := strconv.ParseInt(s.field(field), 10, 64) // 0 is as good as any where there is no number
	return time.Duration(n) * tick
}

func (s stat) own() time.Duration { return s.ticks(statUser) + s.ticks(statSystem) }

func (s stat) ended() time.Duration { return s.ticks(statChildUser) + s.ticks(statChildSys) }

// Activity is what the process has done so far, with what it started.
func (p *Process) Activity() Activity {
	s, ok := readStat(p.PID())
	if !ok {
		return Activity{}
	}
	state := s.field(statState)
	e := Activity{
		at: time.Now(), known: true, used: s.own(), family: s.ended(),
		wants: strings.Contains("RD", state), halted: strings.Contains("Tt", state),
	}
	booted := e.at.Add(-uptime())
	for _, s := range descendants(p.PID()) {
		e.family += s.own() + s.ended()
		started := booted.Add(s.ticks(statStartTime))
		if !strings.Contains("ZX", s.field(statState)) && started.After(e.youngest) {
			e.youngest = started
		}
	}
	return e
}

// uptime is how long the machine runs, in the time of statStartTime.
func uptime() time.Duration {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	seconds, _, _ := strings.Cut(string(text), " ")
	up, _ := time.ParseDuration(seconds + "s") // 0 makes all that was started old
	return up
}

// descendants are all that a process has started and that were started by it in
// turn. Not every kernel lists children, so that they are found by their parents.
func descendants(pid int) []stat {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	stats, children := map[string]stat{}, map[string][]string{}
	for _, f := range files {
		line, _ := os.ReadFile(f) //nolint:gosec // of /proc; a process that has ended has none
		if s, ok := parseStat(line); ok {
			child, parent := filepath.Base(filepath.Dir(f)), s.field(statParent)
			stats[child], children[parent] = s, append(children[parent], child)
		}
	}
	var all []stat
	for next := []string{strconv.Itoa(pid)}; len(next) > 0; next = next[1:] {
		for _, child := range children[next[0]] {
			all, next = append(all, stats[child]), append(next, child)
		}
		delete(children, next[0]) // numbers are given anew: there might be a circle
	}
	return all
}

// Memory is the resident set in bytes, 0 when the process is gone.
func (p *Process) Memory() int64 {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID()))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(line), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}
