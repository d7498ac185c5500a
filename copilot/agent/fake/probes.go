package fake

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/fault"
)

// probes are the results of supervision calls. Those come at any time, so the results are set with methods.
type probes struct {
	before     func(context.Context, Call) error
	memory     func(process int) int64
	background func(session string) bool
}

// BeforeProbe sets the hook for Ping, Working and Background, for which Before is not called.
func (a *Agents) BeforeProbe(before func(ctx context.Context, c Call) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watched.before = before
}

// SetMemory sets the memory of a process by the number of its launch. The default is 0.
func (a *Agents) SetMemory(of func(process int) int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watched.memory = of
}

// SetBackground sets whether commands run in the background of a session. By default, none do.
func (a *Agents) SetBackground(of func(session string) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watched.background = of
}

// Hang makes processes stop responding, so that they must be killed: those with these numbers, counted from 1
// in the order of their launches.
func (a *Agents) Hang(numbers ...int) {
	a.halt(context.Canceled, numbers)
}

// HaltBusy is like Hang for processes that may be computing.
func (a *Agents) HaltBusy(numbers ...int) {
	a.halt(fault.Errorf(fault.Busy, "the agent is computing"), numbers)
}

// Resume makes halted processes respond again.
func (a *Agents) Resume(numbers ...int) { a.halt(nil, numbers) }

func (a *Agents) halt(ping error, numbers []int) {
	a.mu.Lock()
	processes := slices.Clone(a.processes)
	a.mu.Unlock()
	for _, p := range processes {
		if slices.Contains(numbers, p.number) {
			p.mu.Lock()
			p.halted = ping
			p.mu.Unlock()
		}
	}
}

// halt blocks a call while the process is halted.
func (p *process) halt(ctx context.Context, c Call) error {
	p.mu.Lock()
	halted := p.halted
	p.mu.Unlock()
	if halted == nil {
		return nil
	}
	err := HangForever(ctx, c)
	if c.Method == Ping {
		return halted
	}
	return err
}

// Ping returns at once, unless the process is halted.
func (p *process) Ping(ctx context.Context) error { return p.call(ctx, Call{Method: Ping}) }

// Memory returns the value set with [Agents.SetMemory].
func (p *process) Memory() int64 {
	p.agents.mu.Lock()
	of := p.agents.watched.memory
	p.agents.mu.Unlock()
	if of == nil {
		return 0
	}
	return of(p.number)
}

// Working reports whether a script is running.
func (c *conversation) Working(ctx context.Context) (bool, error) {
	if err := c.call(ctx, Call{Method: Working}); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent || c.turn != nil, nil
}

// Ask returns the result of [Agents.Reply].
func (c *conversation) Ask(ctx context.Context, question string) (string, error) {
	if err := c.call(ctx, Call{Method: Ask, Prompt: question}); err != nil {
		return "", err
	}
	if reply := c.process.agents.Reply; reply != nil {
		return reply(question)
	}
	return "", fault.Errorf(fault.Invalid, "this agent cannot be asked outside of its conversation")
}

// Background returns the value set with [Agents.SetBackground].
func (c *conversation) Background(ctx context.Context) (bool, error) {
	if err := c.call(ctx, Call{Method: Background}); err != nil {
		return false, err
	}
	c.process.agents.mu.Lock()
	of := c.process.agents.watched.background
	c.process.agents.mu.Unlock()
	return of != nil && of(c.opening.Session), nil
}

// Forget makes the agent send no Idle when the script has ended.
func (t *Turn) Forget() { t.forgets = true }
