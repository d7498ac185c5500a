package export

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
)

// writeSessionEvent writes events of the session itself.
func (d *document) writeSessionEvent(e event.Event) {
	switch b := e.Body.(type) {
	case event.RunStarted:
		d.begun = e.Time
	case event.UserMessage:
		d.prompt(e, b.Prompt)
	case event.RunEnded:
		d.runEnded(e, b)
	case event.SessionError:
		d.failed(e, b)
	case event.ModelChanged:
		d.block("*From now on the model is* %s%s", code(b.Model), stamp(e.Time))
	case event.SessionClosed:
		d.writeUnfinished()
		d.block("*The session was closed%s*", stamp(e.Time))
	case event.CompactionEnded:
		d.compacted(e, b)
	default:
		d.writeWorkEvent(e)
	}
}

// writeWorkEvent writes how the agent organizes its work.
func (d *document) writeWorkEvent(e event.Event) {
	switch b := e.Body.(type) {
	case event.PlanChanged:
		d.plan(e, b)
	case event.SubagentStarted:
		d.agents[b.ID] = cmp.Or(b.Title, b.Name, b.ID)
		d.block("*The sub-agent %s begins%s*", inline(d.agents[b.ID]), stamp(e.Time))
	case event.SubagentEnded:
		d.block("*The sub-agent %s: %s%s*", inline(cmp.Or(d.agents[b.ID], b.ID)), sentence(string(b.Outcome), b.Error), stamp(e.Time))
		delete(d.agents, b.ID)
	case event.ServerChanged:
		if b.Server.State == event.ServerFailed {
			d.block("**The MCP server %s failed**%s: %s", code(b.Server.Name), stamp(e.Time), inline(b.Server.Error))
		}
	case event.FilesRestored:
		d.restored(e, b)
	case event.SessionOpened, event.TitleChanged, event.PolicyChanged, event.UsageChanged, event.ModelCalled, event.CompactionStarted,
		event.Notice, event.QueueChanged, event.TurnStarted, event.TurnEnded, event.ReasoningStarted, event.MessageStarted: // ignored
	}
}

func (d *document) restored(e event.Event, b event.FilesRestored) {
	names := make([]string, 0, len(b.Paths))
	for _, p := range b.Paths {
		names = append(names, code(p))
	}
	if more := b.Files - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	what := map[event.RestoreKind]string{event.RestoreRevert: "Changes were taken back", event.RestoreState: "Files were restored", event.RestoreUndo: "A restore was undone"}
	d.block("*%s*%s: %s", what[b.Kind], stamp(e.Time), strings.Join(names, ", "))
}

func (d *document) failed(e event.Event, b event.SessionError) {
	what := inline(b.Text)
	if b.Hint != "" {
		what += " – " + commands(b.Hint)
	}
	d.block("**Failure** (%s)%s: %s", inline(string(b.Kind)), stamp(e.Time), what)
}

// sentence joins two texts, one of which may be empty.
func sentence(a, b string) string {
	if a == "" || b == "" {
		return inline(a + b)
	}
	return inline(a) + " – " + inline(b)
}

func (d *document) prompt(e event.Event, p event.Prompt) {
	title := "Prompt"
	if p.Steer {
		title = "Prompt in between"
	}
	if p.Mode != "" && p.Mode != event.ModeInteractive {
		title += " (" + inline(string(p.Mode)) + ")"
	}
	if !e.Time.IsZero() {
		title += " · " + e.Time.UTC().Format(day)
	}
	d.block("## %s\n\n%s", title, quoted(p.Text))
	for _, a := range p.Attachments {
		d.attached(a)
	}
}

func (d *document) attached(a event.Attachment) {
	name := "Attached: " + code(cmp.Or(a.Path, a.Name, a.Type))
	if a.First > 0 {
		name += fmt.Sprintf(", lines %d to %d", a.First, a.Last)
	}
	if a.Data != nil {
		name += fmt.Sprintf(", %s, %d bytes", inline(a.Type), len(a.Data))
	}
	d.block("%s", name)
	if a.Text != "" {
		d.block("%s", fenced("text", a.Text))
	}
}

func (d *document) runEnded(e event.Event, b event.RunEnded) {
	d.writeUnfinished()
	how := map[event.Outcome]string{
		event.Completed: "*Completed*", event.Cancelled: "**Cancelled**", event.Failed: "**Failed**",
		event.Interrupted: "**Interrupted**",
	}[b.Outcome]
	took := ""
	if !d.begun.IsZero() {
		took = fmt.Sprintf(" after %.1f s", e.Time.Sub(d.begun).Seconds())
	}
	text := ""
	if b.Text != "" {
		text = ": " + inline(b.Text)
	}
	d.block("%s%s%s%s", cmp.Or(how, inline(string(b.Outcome))), took, stamp(e.Time), text)
}

func (d *document) compacted(e event.Event, b event.CompactionEnded) {
	if b.Error != "" {
		d.block("**The conversation could not be summed up**%s: %s", stamp(e.Time), inline(b.Error))
		return
	}
	d.block("*The conversation was summed up: %d tokens became %d%s*", b.Before, b.After, stamp(e.Time))
	if b.Summary != "" {
		d.block("%s", quoted(b.Summary))
	}
}

func (d *document) plan(e event.Event, b event.PlanChanged) {
	d.block("### Plan%s%s", d.agentNameMarkdown(e.Agent), stamp(e.Time))
	if b.Text != "" {
		d.block("%s", quoted(b.Text))
	}
	var todos []string
	for _, t := range b.Todos {
		mark := " "
		switch t.State {
		case event.TodoCompleted:
			mark = "x"
		case event.TodoRunning, event.TodoPending:
		}
		todos = append(todos, fmt.Sprintf("- [%s] %s", mark, sentence(t.Title, t.Detail)))
	}
	if todos != nil {
		d.block("%s", strings.Join(todos, "\n"))
	}
}
