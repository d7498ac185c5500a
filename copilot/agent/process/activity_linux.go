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

// stat is a line of /proc/<pid>/stat after the name of the program, which may contain anything.
type stat [][]byte

// Fields of stat, numbered as in the manual.
const (
	statState     = 3
	statParent    = 4
	statSession   = 6
	statUser      = 14 // user time, in ticks
	statSystem    = 15 // kernel time, in ticks
	statChildUser = 16 // user time of ended children, in ticks
	statChildSys  = 17
	statStartTime = 22 // since boot, in ticks
)

func (s stat) field(n int) string { return string(s[n-statState]) }

// tick is the unit of times in /proc, which is the same on all of Linux.
const tick = time.Second / 100

// readStat reads the stat of a process. It returns false if the process is gone.
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
	n, _ := strconv.ParseInt(s.field(field), 10, 64) // 0 for fields that are not numbers
	return time.Duration(n) * tick
}

func (s stat) own() time.Duration { return s.ticks(statUser) + s.ticks(statSystem) }

func (s stat) ended() time.Duration { return s.ticks(statChildUser) + s.ticks(statChildSys) }

// Activity returns the activity of the process and its children so far.
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

// uptime returns the time since boot, comparable with statStartTime.
func uptime() time.Duration {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	seconds, _, _ := strings.Cut(string(text), " ")
	up, _ := time.ParseDuration(seconds + "s") // after an error, every child counts as old
	return up
}

// descendants returns all children of a process, recursively. It searches by parent, because not every kernel
// lists children.
func descendants(pid int) []stat {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	stats, children := map[string]stat{}, map[string][]string{}
	for _, f := range files {
		line, _ := os.ReadFile(f) //nolint:gosec // empty if the process has ended
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
		delete(children, next[0]) // ids are reused, so there may be a cycle
	}
	return all
}

// Memory returns the resident set in bytes, 0 if the process is gone.
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
