package process

import "time"

// Activity is what a process has done, with what it started.
type Activity struct {
	at       time.Time
	known    bool
	used     time.Duration // of the processor
	wants    bool          // it wants the processor or waits for the disk
	halted   bool          // by a signal: it waits for nobody
	family   time.Duration // of the processor, by what it started
	youngest time.Time     // when what it started last was started, of what lives; zero if there is nothing
}

// minActivity is the share of the processor that shows work. A Copilot CLI that had
// just come to rest was seen to use 1.5 percent, and nothing after some seconds.
const minActivity = 0.02

// lag is how much later than it was sent a word of the process may have been noted.
const lag = time.Second

// Since says whether the process has worked since then, or may have. Heard is when
// its last word came. The Copilot CLI is of one thread and calls gh and git
// synchronously: while such a child runs it does nothing itself. It was started
// after the CLI's last word; one that is older, such as an MCP server, is not what
// it waits for.
func (e Activity) Since(then Activity, heard time.Time) bool {
	if !e.known || !then.known || e.wants {
		return true
	}
	if e.halted {
		return false
	}
	least := time.Duration(minActivity * float64(e.at.Sub(then.at)))
	return e.used-then.used >= least || e.family-then.family >= least ||
		!e.youngest.IsZero() && e.youngest.After(heard.Add(-lag))
}
