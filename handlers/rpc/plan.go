package rpc

import (
	"cmp"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
)

// plan is the plan of a run as sent: the domain has it whole each time, the stream in steps
// (spec/contracts/json-rpc-http.notes.md, "Stream").
type plan struct {
	id    string
	steps map[string]planStep // by id, as sent last
	ended bool
}

type (
	planStart struct {
		PlanID string `json:"planId"`
		Title  string `json:"title"`
		Text   string `json:"text,omitempty"`
	}
	planComplete struct {
		PlanID string `json:"planId"`
		Status string `json:"status"`
	}
	planStep struct {
		StepID      string `json:"stepId"`
		Description string `json:"description"`
		Status      string `json:"status"`
	}
)

// change encodes what is new in the plan.
func (p *plan) change(run string, b event.PlanChanged) (messages []message) {
	if p.id == "" || p.ended {
		if len(b.Todos) == 0 && b.Text == "" {
			return nil
		}
		*p = plan{id: cmp.Or(run, "plan"), steps: map[string]planStep{}}
		messages = singleEvent("plan.start", planStart{p.id, title(b.Text), b.Text})
	}
	all := len(b.Todos) > 0
	for _, todo := range b.Todos {
		step := planStep{todo.ID, cmp.Or(todo.Title, todo.ID), string(todo.State)}
		all = all && todo.State == event.TodoCompleted
		if p.steps[step.StepID] != step {
			p.steps[step.StepID] = step
			messages = append(messages, message{event: "plan.step", data: step})
		}
	}
	if all {
		p.ended = true
		messages = append(messages, message{event: "plan.complete", data: planComplete{p.id, string(event.TodoCompleted)}})
	}
	return messages
}

// end encodes the end of the run for the current step.
func (p *plan) end(o event.Outcome) (messages []message) {
	if p.id == "" || p.ended {
		return nil
	}
	if o != event.Completed {
		for _, step := range p.steps {
			if step.Status == string(event.TodoRunning) {
				step.Status = string(event.Failed)
				messages = append(messages, message{event: "plan.step", data: step})
			}
		}
	}
	return append(messages, message{event: "plan.complete", data: planComplete{p.id, string(o)}})
}

// title returns the first line of a plan.
func title(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cmp.Or(strings.TrimSpace(strings.TrimLeft(line, "# ")), "Plan")
}
