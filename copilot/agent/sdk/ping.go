package sdk

import (
	"context"
	"slices"
	"time"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/fault"
)

// pingTimeout exceeds the limits of all callers, which decide how long to wait.
const pingTimeout = time.Hour

// Ping waits for a response or any event of the CLI. If it is silent until ctx is done, its processor use
// shows whether it may still be computing; if that is unknown, it counts as computing.
func (a *Agent) Ping(ctx context.Context) error {
	before, heard := a.process.Activity(), a.lastActivity.Load()
	err := a.call(ctx, pingTimeout, func(ctx context.Context) error {
		return a.withTimeout(ctx, func() error {
			_, err := a.client.Ping(ctx, "")
			if err != nil && ctx.Err() == nil { // a later CLI may not know the method, but every one has sent its status
				_, err = a.client.GetStatus(ctx)
			}
			return err
		})
	})
	switch {
	case err == nil || a.lastActivity.Load() != heard:
		return nil
	case ctx.Err() != nil && a.process.Activity().Since(before, time.Unix(0, heard)):
		return fault.Errorf(fault.Busy, "the Copilot CLI is busy and does not answer: %w", err)
	}
	return err
}

// Memory returns the memory of the CLI, without its children.
func (a *Agent) Memory() int64 { return a.process.Memory() }

// Working asks the CLI whether it is working on a turn. While a sub-agent works in the background it answers
// no, although it will continue afterwards.
func (c *conversation) Working(ctx context.Context) (bool, error) {
	return query(ctx, c.agent, func() (bool, error) {
		r, err := c.session.RPC.Metadata.IsProcessing(ctx)
		if err != nil || r.Processing {
			return err == nil, err
		}
		return c.hasTask(ctx, isAgent)
	})
}

// Background asks the CLI for running commands and sub-agents.
func (c *conversation) Background(ctx context.Context) (bool, error) {
	return query(ctx, c.agent, func() (bool, error) { return c.hasTask(ctx, isRunning) })
}

// query makes a call of the SDK that returns a value, within its time limit. It ignores later results.
func query[T any](ctx context.Context, a *Agent, call func() (T, error)) (v T, err error) {
	answer := make(chan T, 1)
	err = a.withTimeout(ctx, func() error {
		value, err := call()
		answer <- value
		return err
	})
	if err == nil {
		v = <-answer
	}
	return v, err
}

// hasTask looks for a task of the session. The SDK cannot read the list after a command was started detached,
// which is an error.
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
