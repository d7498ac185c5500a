// Package testclock measures time limits in tests on a busy machine.
package testclock

import (
	"fmt"
	"os"
	"time"
)

// patience is the longest wait, whatever the machine does.
const patience = 2 * time.Minute

// Clock measures time without the periods in which a process waited for a processor or a disk, because limits
// assume an idle machine. Only Linux reports these periods.
type Clock struct {
	time  time.Time
	stall time.Duration
}

// Now starts a clock.
func Now() Clock { return Clock{time.Now(), stalled()} }

// stalled returns how long processes have waited since the machine started.
func stalled() (all time.Duration) {
	for _, of := range []string{"cpu", "io"} {
		text, _ := os.ReadFile("/proc/pressure/" + of) //nolint:gosec // of the kernel
		var total int64
		_, _ = fmt.Sscanf(string(text), "some avg10=%f avg60=%f avg300=%f total=%d", new(float64), new(float64), new(float64), &total)
		all += time.Duration(total) * time.Microsecond
	}
	return all
}

// Elapsed returns the time since the clock was started.
func (c Clock) Elapsed() time.Duration { return Now().Sub(c) }

// Sub returns the time from another clock's start to this one's.
func (c Clock) Sub(start Clock) time.Duration {
	return max(0, c.time.Sub(start.time)-(c.stall-start.stall))
}

// Wait waits until done is closed. It returns false once the limit or two minutes have passed.
func (c Clock) Wait(done <-chan struct{}, limit time.Duration) bool {
	for time.Since(c.time) < patience && c.Elapsed() < limit {
		select {
		case <-done:
			return true
		case <-time.After(100 * time.Millisecond):
		}
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Settle waits for a time as measured by a Clock, but at most ten times as long.
func Settle(after time.Duration) {
	c := Now()
	for c.Elapsed() < after && time.Since(c.time) < 10*after {
		<-time.After(after / 10)
	}
}
