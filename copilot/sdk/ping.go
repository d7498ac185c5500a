package sdk

import (
	"context"
	"slices"
	"time"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot"
)

// pingTimeout is more than any caller allows: how long is theirs to say.
const pingTimeout = time.Hour

// Ping waits for an answer of the CLI, or for any event of it. One that is
// silent until ctx is done may still be computing, which is told by what it has
// used of the processor; where that cannot be seen it is taken to be.
func (a *Agent) Ping(ctx context.Context) error {
	before, heard := a.process.effort(), a.heard.Load()
	err := a.call(ctx, pingTimeout, func(ctx context.Context) error {
		return inTime(ctx, func() error {
			_, err := a.client.Ping(ctx, "")
			if err != nil && ctx.Err() == nil { // a later CLI may not know it, but every one has told its status
				_, err = a.client.GetStatus(ctx)
			}
			return err
		})
	})
	switch {
	case err == nil || a.heard.Load() != heard:
		return nil
	case ctx.Err() != nil && a.process.effort().since(before, time.Unix(0, heard)):
		return copilot.Errorf(copilot.Busy, "the Copilot CLI computes and does not answer: %w", err)
	}
	return err
}

// effort is what a process has done, with what it started.
type effort struct {
	at       time.Time
	known    bool
	used     time.Duration // of the processor
	wants    bool          // it wants the processor or waits for the disk
	halted   bool          // by a signal: it waits for nobody
	family   time.Duration // of the processor, by what it started
	youngest time.Time     // when what it started last was started, of what lives; zero if there is nothing
}

// leastEffort is the share of the processor that shows work. A CLI that had just
// come to rest was seen to use 1.5 percent, and nothing after some seconds.
const leastEffort = 0.02

// lag is how much later than it was sent a word of the CLI may have been noted.
const lag = time.Second

// since says whether the process has worked since then, or may have. The CLI is
// of one thread and calls gh and git synchronously: while such a child runs it
// does nothing itself. It was started after the CLI's last word; one that is
// older, such as an MCP server, is not what it waits for.
func (e effort) since(then effort, heard time.Time) bool {
	if !e.known || !then.known || e.wants {
		return true
	}
	if e.halted {
		return false
	}
	least := time.Duration(leastEffort * float64(e.at.Sub(then.at)))
	return e.used-then.used >= least || e.family-then.family >= least ||
		!e.youngest.IsZero() && e.youngest.After(heard.Add(-lag))
}

// Memory is what the CLI holds, without what it started.
func (a *Agent) Memory() int64 { return a.process.memory() }

// Working asks the CLI whether it works on a turn. While a sub-agent works in
// the background it denies that, though it goes on when that has ended.
func (c *conversation) Working(ctx context.Context) (bool, error) {
	return yes(ctx, func() (bool, error) {
		r, err := c.session.RPC.Metadata.IsProcessing(ctx)
		if err != nil || r.Processing {
			return err == nil, err
		}
		return c.hasTask(ctx, isAgent)
	})
}

// Background asks the CLI for its running commands and sub-agents.
func (c *conversation) Background(ctx context.Context) (bool, error) {
	return yes(ctx, func() (bool, error) { return c.hasTask(ctx, isRunning) })
}

// yes does a call of the SDK in time, whose answer is yes or no. What comes later
// is not looked at.
func yes(ctx context.Context, call func() (bool, error)) (bool, error) {
	answer := make(chan bool, 1)
	err := inTime(ctx, func() error {
		is, err := call()
		answer <- is
		return err
	})
	if err != nil {
		return false, err
	}
	return <-answer, nil
}

// hasTask looks for a task of the session. The SDK cannot read the list once a
// command was started detached, which is an error.
func (c *conversation) hasTask(ctx context.Context, is func(rpc.TaskInfo) bool) (bool, error) {
	list, err := c.session.RPC.Tasks.List(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Tasks, is), nil
}

func isAgent(task rpc.TaskInfo) bool {
	t, ok := task.(*rpc.TaskAgentInfo)
	return ok && t.Status == rpc.TaskStatusRunning
}

func isRunning(task rpc.TaskInfo) bool {
	if t, ok := task.(*rpc.TaskShellInfo); ok {
		return t.Status == rpc.TaskStatusRunning
	}
	return isAgent(task)
}
