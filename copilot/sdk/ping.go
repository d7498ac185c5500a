package sdk

import (
	"context"
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
	case ctx.Err() != nil && a.process.effort().since(before):
		return copilot.Errorf(copilot.Busy, "the Copilot CLI computes and does not answer: %w", err)
	}
	return err
}

// effort is what a process has done.
type effort struct {
	at    time.Time
	known bool
	used  time.Duration // of the processor
	wants bool          // it wants the processor or waits for the disk
}

// leastEffort is the share of the processor that shows work. A CLI that had just
// come to rest was seen to use 1.5 percent, and nothing after some seconds.
const leastEffort = 0.02

// since says whether the process has worked since then, or may have.
func (e effort) since(then effort) bool {
	if !e.known || !then.known || e.wants {
		return true
	}
	return float64(e.used-then.used) >= leastEffort*float64(e.at.Sub(then.at))
}

// Memory is what the CLI holds, without what it started.
func (a *Agent) Memory() int64 { return a.process.memory() }

// Working asks the CLI whether it works on a turn.
func (c *conversation) Working(ctx context.Context) (working bool, err error) {
	err = inTime(ctx, func() error {
		r, err := c.session.RPC.Metadata.IsProcessing(ctx)
		if err != nil {
			return err
		}
		working = r.Processing
		return nil
	})
	return working, err
}

// Background asks the CLI for its running commands and agents. The SDK cannot
// read the answer once a command was started detached, which is an error.
func (c *conversation) Background(ctx context.Context) (running bool, err error) {
	err = inTime(ctx, func() error {
		list, err := c.session.RPC.Tasks.List(ctx)
		if err != nil {
			return err
		}
		for _, task := range list.Tasks {
			running = running || isRunning(task)
		}
		return nil
	})
	return running, err
}

func isRunning(task rpc.TaskInfo) bool {
	switch t := task.(type) {
	case *rpc.TaskShellInfo:
		return t.Status == rpc.TaskStatusRunning
	case *rpc.TaskAgentInfo:
		return t.Status == rpc.TaskStatusRunning
	}
	return true // of a kind that nobody knows
}
