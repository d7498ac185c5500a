package sdk

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
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

func (p *process) effort() effort {
	s, ok := readStat(p.pid())
	if !ok {
		return effort{}
	}
	state := s.field(statState)
	return effort{
		at: time.Now(), known: true, used: s.ticks(statUser) + s.ticks(statSystem),
		wants: state == "R" || state == "D",
	}
}

// memory is the resident set in bytes, 0 when the process is gone.
func (p *process) memory() int64 {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.pid()))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(line), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}
