package acp

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

// openQuestion is a question that waits for its answer.
type openQuestion struct {
	event.Question

	answered chan event.Answer // has one answer; closed without one if the question was withdrawn
	grants   []string          // files that the agent may write through the portal once if it is approved
}

// ask asks a question during a turn. The caller must hold the lock.
func (c *conversation) ask(q event.Question) *openQuestion {
	q.ID, q.Kind = c.nextID(), cmp.Or(q.Kind, event.AskPermission)
	open := &openQuestion{Question: q, answered: make(chan event.Answer, 1)}
	c.questions[q.ID] = open
	c.emit(event.QuestionAsked{Question: q})
	return open
}

// await waits for the answer; false if the question was withdrawn.
func (q *openQuestion) await(ctx context.Context) (event.Answer, bool) {
	select {
	case a, ok := <-q.answered:
		return a, ok
	case <-ctx.Done():
		return event.Answer{}, false
	}
}

// Answer answers a question. It is no error if it is not open any more.
func (c *conversation) Answer(ctx context.Context, q event.Question, a event.Answer) error {
	if err := c.agent.Alive(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	open := c.questions[q.ID]
	if open == nil {
		return nil
	}
	c.closeQuestion(open)
	if c.turn != nil {
		c.turn.answered(open, a)
	}
	open.answered <- a
	return nil
}

// answered keeps what an answer means for the call, and for files: some agents ask first, and then write through the portal.
func (t *turn) answered(q *openQuestion, a event.Answer) {
	if a.Approved {
		t.granted = append(t.granted, q.grants...)
		return
	}
	if i := slices.IndexFunc(t.calls, func(c *toolCall) bool { return c.ID == q.Call }); i >= 0 {
		t.calls[i].refusal = failure(a)
	}
}

// closeQuestion closes a question. The caller must hold the lock.
func (c *conversation) closeQuestion(q *openQuestion) {
	delete(c.questions, q.ID)
	c.emit(event.QuestionClosed{ID: q.ID, Ending: event.Withdrawn})
}

// withdrawQuestions closes all questions without an answer. The caller must hold the lock.
func (c *conversation) withdrawQuestions() {
	for _, q := range c.questions {
		c.withdraw(q)
	}
}

// withdraw closes a question without an answer. The caller must hold the lock.
func (c *conversation) withdraw(q *openQuestion) {
	c.closeQuestion(q)
	close(q.answered)
}

// requestPermission asks the user. A question without a turn is cancelled.
func (a *Agent) requestPermission(_ context.Context, r *jsonrpc.Request) (func(context.Context) (any, error), error) {
	var p permissionParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	c, err := a.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	q, isClientTool := c.askPermission(p.Call)
	return func(ctx context.Context) (any, error) {
		switch {
		case isClientTool: // the user is asked when it is called
			return acp.PermissionResult{Outcome: choose(p.Options, optionKinds(true)...)}, nil
		case q == nil:
			return acp.PermissionResult{Outcome: choose(p.Options)}, nil
		}
		answer, ok := q.await(ctx)
		if !ok {
			return acp.PermissionResult{Outcome: choose(p.Options)}, nil
		}
		return acp.PermissionResult{Outcome: choose(p.Options, optionKinds(answer.Approved)...)}, nil
	}, nil
}

// askPermission asks for the permission for a tool call, or returns nil without a turn and for tools of clients.
func (c *conversation) askPermission(u toolUpdate) (q *openQuestion, isClientTool bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.activeTurn()
	if t == nil {
		return nil, false
	}
	if a := c.announce(u); a != nil && !a.permitted {
		a.permitted = true
		return nil, true
	}
	c.endText(t)
	call := &toolCall{toolUpdate: u}
	if !slices.Contains(t.ended, u.ID) {
		call = t.find(u.ID)
		call.merge(u)
		c.startCall(call)
	}
	question, grants := call.question(c.agent.Name, c.directory)
	q = c.ask(question)
	q.grants = grants
	return q, false
}

// question returns the question for the call of an agent in a directory, and the files that an approval allows to write.
func (c *toolCall) question(agent, directory string) (q event.Question, grants []string) {
	q, needs := c.describe(agent)
	q.Call = c.ID
	for _, n := range permission.Resolve(c.directory(directory), needs) {
		if n.Name == permission.Write && c.Kind == "edit" && n.Target != "" {
			grants = append(grants, n.Target)
		}
	}
	q.SetNeeds(needs...)
	return q, grants
}

// directory returns the directory in which a command runs.
func (u toolUpdate) directory(usual string) string {
	in := u.input()
	switch d := cmp.Or(in.Workdir, in.Cwd); {
	case d == "":
		return usual
	case filepath.IsAbs(d):
		return d
	default:
		return filepath.Join(usual, d)
	}
}

// optionKinds returns the kinds of options for an answer, in order of preference: only once, because the portal remembers answers itself.
// If the agent offers no approval for once, nothing was approved.
func optionKinds(approved bool) []string {
	if approved {
		return []string{"allow_once", "reject_once", "reject_always"}
	}
	return []string{"reject_once", "reject_always"}
}

// choose returns the outcome that selects an option of the first kind that is offered. Without one, the request is cancelled, which would end
// the turn and is therefore no refusal.
func choose(options []acp.PermissionOption, kinds ...string) acp.Outcome {
	for _, kind := range kinds {
		if i := slices.IndexFunc(options, func(o acp.PermissionOption) bool { return o.Kind == kind && !endsTurn(o) }); i >= 0 {
			return acp.Outcome{Outcome: "selected", Option: options[i].ID}
		}
	}
	return acp.Outcome{Outcome: stopCancelled}
}

// endsTurn reports whether an option also ends the turn, as the second refusal of some agents does.
func endsTurn(o acp.PermissionOption) bool { return o.ID == "cancel" || o.ID == "abort" }

// describe returns the question for a tool call of an agent and what it needs.
func (u toolUpdate) describe(agent string) (event.Question, []permission.Need) {
	in := u.input()
	switch u.Kind {
	case "execute":
		line := string(in.Command)
		if line == "" {
			return event.Question{Title: cmp.Or(u.Title, "Run a command"), Detail: u.Title}, []permission.Need{{Name: permission.Exec, Opaque: true}}
		}
		return event.Question{Title: cmp.Or(in.Description, "Run a command"), Detail: line}, permission.LineNeeds(line)
	case "edit", "delete", "move":
		verb := map[string]string{"edit": "Write ", "delete": "Delete ", "move": "Move "}[u.Kind]
		return event.Question{Title: verb + cmp.Or(in.Path, "a file"), Detail: u.changeText()}, u.fileNeeds(permission.Write)
	case "read", "search":
		return event.Question{Title: "Read " + cmp.Or(in.Path, "files"), Detail: in.Path}, u.fileNeeds(permission.Read)
	case "fetch":
		return event.Question{Title: "Fetch " + cmp.Or(in.URL, u.Title), Detail: in.URL}, []permission.Need{{Name: permission.Fetch, Target: in.URL}}
	}
	// The name is the agent's, or that of an MCP server: it must not be one of ours. Without a name, the answer is good for nothing else.
	need := permission.Need{Name: "agent." + agent + "." + cmp.Or(u.Name, "other"), Opaque: u.Name == ""}
	return event.Question{Title: cmp.Or(u.Title, "Use "+cmp.Or(u.Name, "a tool")), Detail: string(u.RawInput)}, []permission.Need{need}
}

// fileNeeds returns a need for each file of the call, or one for any file.
func (u toolUpdate) fileNeeds(name string) (needs []permission.Need) {
	paths := []string{u.input().Path}
	for _, l := range u.Locations {
		paths = append(paths, l.Path)
	}
	for _, c := range u.Content {
		paths = append(paths, c.Path)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if path != "" {
			needs = append(needs, permission.Need{Name: name, Target: path})
		}
	}
	if needs == nil {
		return []permission.Need{{Name: name}}
	}
	return needs
}

// changeText returns the change of files, for people.
func (u toolUpdate) changeText() string {
	if diff := u.input().Diff; diff != "" {
		return strings.TrimSpace(diff)
	}
	diff, ok := u.change()
	if !ok {
		return ""
	}
	var b strings.Builder
	if diff.OldText != nil {
		addLines(&b, "-", *diff.OldText)
	}
	addLines(&b, "+", diff.NewText)
	return b.String()
}

func addLines(b *strings.Builder, mark, text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(strings.TrimSuffix(text, "\n")) {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
}
