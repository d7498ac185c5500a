package sdk

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/event"
)

// Reading the to-dos is repeated after readTimeout, but not for ever. The end of a run waits for it no longer than holdTimeout.
const (
	readTimeout = 2 * time.Second
	maxReads    = 5 // in a row
	holdTimeout = maxReads * readTimeout
)

// plan is the plan of a conversation, guarded by its lock. The CLI only signals that its to-dos have changed,
// often several times at once; one goroutine reads them as long as there are changes.
type plan struct {
	text    string
	todos   []event.Todo
	dirty   bool // changed since the last read started
	reading bool
	held    *event.Idle // end of the run, which waits for the read
}

func (p *plan) whole() event.PlanChanged { return event.PlanChanged{Text: p.text, Todos: p.todos} }

// hold delays the end of a run while the plan is being read, but not for long.
func (p *plan) hold(i event.Idle, release func(*event.Idle)) bool {
	if !p.reading || i.Aborted {
		return false
	}
	p.held = &i
	time.AfterFunc(holdTimeout, func() { release(&i) })
	return true
}

// releaseRunEnd ends a run that was delayed long enough, unless a later one is delayed now.
func (c *conversation) releaseRunEnd(end *event.Idle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan.held == end {
		c.releaseRunEndLocked()
	}
}

// releaseRunEndLocked is releaseRunEnd with the lock held.
func (c *conversation) releaseRunEndLocked() {
	if held := c.plan.held; held != nil && !c.closed {
		c.plan.held = nil
		c.sink("", *held)
	}
}

// readPlan makes the goroutine read the to-dos. The caller must hold the lock.
func (c *conversation) readPlan() {
	c.plan.dirty = true
	if c.plan.reading {
		return
	}
	c.plan.reading = true
	c.work.Go(func() {
		<-c.opened
		for late := 0; c.planIsDirty(); {
			todos, err := c.todos()
			if err == nil {
				c.plannedTodos(todos)
			}
			if !errors.Is(err, context.DeadlineExceeded) { // after an error the next signal reads them
				late = 0
				continue
			}
			if late++; late < maxReads { // the CLI is busy
				c.markPlanDirty()
			}
		}
	})
}

func (c *conversation) planIsDirty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan.dirty && !c.closed {
		c.plan.dirty = false
		return true
	}
	c.plan.reading = false
	c.releaseRunEndLocked()
	return false
}

// markPlanDirty makes the goroutine that reads the to-dos read them again.
func (c *conversation) markPlanDirty() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan.dirty = true
}

func (c *conversation) plannedTodos(todos []event.Todo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || reflect.DeepEqual(todos, c.plan.todos) {
		return
	}
	c.plan.todos = todos
	c.sink("", c.plan.whole())
}

// todos returns the to-dos of the session, in the order of their creation.
func (c *conversation) todos() ([]event.Todo, error) {
	return fetch(context.Background(), c.agent, readTimeout, func(ctx context.Context) ([]event.Todo, error) {
		return query(ctx, c.agent, func() ([]event.Todo, error) {
			list, err := c.session.RPC.Plan.ReadSqlTodosWithDependencies(ctx)
			if err != nil {
				return nil, err
			}
			return todoList(list), nil
		})
	})
}

func todoList(list *rpc.PlanReadSQLTodosWithDependenciesResult) []event.Todo {
	after := map[string][]string{}
	for _, d := range list.Dependencies {
		after[d.TodoID] = append(after[d.TodoID], d.DependsOn)
	}
	todos := make([]event.Todo, 0, len(list.Rows))
	for _, r := range list.Rows {
		id := text(r.ID)
		todos = append(todos, event.Todo{
			ID: id, Title: text(r.Title), Detail: text(r.Description), State: todoState(text(r.Status)), After: after[id],
		})
	}
	return todos
}

// todoState converts the state that the model wrote, which should be pending, in_progress, done or blocked.
func todoState(status string) event.TodoState {
	switch status {
	case "in_progress":
		return event.TodoRunning
	case "done", "completed":
		return event.TodoCompleted
	}
	return event.TodoPending
}
