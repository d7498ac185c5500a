package process

import "time"

// Activity is the use of the processor by a process and its children.
type Activity struct {
	at       time.Time
	known    bool
	used     time.Duration // processor time of the process
	wants    bool          // it is running or waits for the disk
	halted   bool          // by a signal
	family   time.Duration // processor time of its children
	youngest time.Time     // start of the youngest living child; zero if there is none
}

// minActivity is the processor share that counts as work. A Copilot CLI that had just become idle was
// measured at 1.5 percent, and at nothing after some seconds.
const minActivity = 0.02

// lag is the maximum delay between sending and recording an output of the process.
const lag = time.Second

// Since reports whether the process has worked since then, or may have. lastOutput is the time of its last output.
// The Copilot CLI has a single thread and calls gh and git synchronously: while such a child runs, it does
// nothing else. Such a child was started after the last output; an older one, such as an MCP server, is not
// what it waits for.
func (e Activity) Since(then Activity, lastOutput time.Time) bool {
	if !e.known || !then.known || e.wants {
		return true
	}
	if e.halted {
		return false
	}
	least := time.Duration(minActivity * float64(e.at.Sub(then.at)))
	return e.used-then.used >= least || e.family-then.family >= least ||
		!e.youngest.IsZero() && e.youngest.After(lastOutput.Add(-lag))
}
