package mcp

import (
	"context"
	"strconv"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// The names of the tools for runs.
const (
	promptSession  = "prompt"
	waitForRun     = "wait"
	answerQuestion = "answer"
	cancelRun      = "cancel"
)

func (a *API) addRunTools() {
	add(a, tool{promptSession, "Prompt and wait", "Sends a prompt to a session and waits until the agent has answered, needs an answer, or waitSeconds have passed. " +
		"Cancelling this call cancels the run.", acts}, a.prompt)
	add(a, tool{waitForRun, "Wait for a run", "Waits until a run has ended, needs an answer, or waitSeconds have passed. Cancelling this call leaves the run.", reads}, a.wait)
	add(a, tool{answerQuestion, "Answer a question", "Answers a question of the agent, then waits like wait. The first valid answer of any client counts.", acts}, a.answer)
	add(a, tool{cancelRun, "Cancel a run", "Cancels a run of a session. It does not wait for its end.", acts}, a.cancel)
}

type promptArgs struct {
	SessionID   string   `json:"sessionId"`
	Prompt      string   `json:"prompt"`
	Mode        string   `json:"mode,omitempty" jsonschema:"interactive (default), plan (make a plan first) or autopilot (go on until done)"`
	WaitSeconds *float64 `json:"waitSeconds,omitempty" jsonschema:"how long to wait; default 50, at most 3600, 0 returns at once"`
}

func (a *API) prompt(ctx context.Context, c call, in promptArgs) (result, error) {
	mode, err := event.ParseMode(in.Mode)
	if err != nil {
		return result{}, err
	}
	deadline, err := newDeadline(in.WaitSeconds)
	if err != nil {
		return result{}, err
	}
	s, err := a.descendInto(ctx, c, in.SessionID)
	if err != nil {
		return result{}, err
	}
	before := s.Record().Last()
	r := follow.Session(a.options.Host, s, before)
	r.Idle = deadline.nextWait
	run, err := r.Prompt(event.Prompt{Text: in.Prompt, Mode: mode, By: Origin})
	if err != nil {
		return result{}, err
	}
	defer context.AfterFunc(ctx, func() {
		if !isStopping(ctx) {
			run.Cancel()
		}
	})()
	return newWaiting(c, run, deadline, before, before).follow(ctx, run.Watch(ctx))
}

// descendInto returns a session for a prompt, which puts its agent to work at the client's depth.
func (a *API) descendInto(ctx context.Context, c call, id string) (*copilot.Session, error) {
	depth, err := a.descend(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := a.options.Host.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if depth > a.depthOf(s) {
		s.SetAttribute(attributeDepth, strconv.Itoa(depth))
	}
	return s, nil
}

type waitArgs struct {
	SessionID   string   `json:"sessionId"`
	RunID       string   `json:"runId,omitempty" jsonschema:"default: the current run of the session, or the last"`
	WaitSeconds *float64 `json:"waitSeconds,omitempty" jsonschema:"how long to wait; default 50, at most 3600, 0 returns at once"`
}

func (a *API) wait(ctx context.Context, c call, in waitArgs) (result, error) {
	deadline, err := newDeadline(in.WaitSeconds)
	if err != nil {
		return result{}, err
	}
	s, err := a.options.Host.Session(ctx, in.SessionID)
	if err != nil {
		return result{}, err
	}
	return a.watch(ctx, c, s, in.RunID, deadline)
}

// watch follows a run that was started before, or the current one.
func (a *API) watch(ctx context.Context, c call, s *copilot.Session, id string, d deadline) (result, error) {
	if id == "" {
		id = s.Info().Run
	}
	if id == "" {
		return result{}, fault.Errorf(fault.NotFound, "the session has no run yet: send it a prompt")
	}
	last := s.Record().Last()
	after, found, err := follow.RunBegin(ctx, s.Record(), id)
	if err != nil {
		return result{}, err
	}
	if !found {
		if _, queued := a.options.Host.SessionByRun(id); !queued {
			return result{}, fault.ErrRunNotFound
		}
		after = last
	}
	r := follow.Session(a.options.Host, s, after)
	r.Idle = d.nextWait
	run := r.Run(id)
	return newWaiting(c, run, d, after, last).follow(ctx, run.Watch(ctx))
}

type cancelArgs struct {
	SessionID string `json:"sessionId"`
	RunID     string `json:"runId,omitempty" jsonschema:"default: the current run"`
}

type done struct {
	Done bool `json:"done"`
}

func (a *API) cancel(ctx context.Context, _ call, in cancelArgs) (done, error) {
	s, err := a.options.Host.Session(ctx, in.SessionID)
	if err != nil {
		return done{}, err
	}
	return done{true}, s.Cancel(in.RunID)
}
