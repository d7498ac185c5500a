package operation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/copilot/secret"
)

// teller translates what happens in a session into messages. It is used by one
// goroutine. What the user has said, the prompt and its document, it never tells.
type teller struct {
	directory string
	tool      string   // by which the model reports; it is not told
	sections  []string // headings that have a name in messages

	texts   map[string]*saying   // those that have no end yet
	calls   map[string]*toolCall // of tools, likewise
	agents  map[string]string    // names of the sub-agents at work
	open    map[string]string    // questions that people have to answer, with the tool calls that wait for them
	reads   []string             // files read one after another that are told together
	todos   string               // as they were told last
	queued  bool                 // the run waits for its turn
	failure failure              // the last
	made    int                  // how many messages
	out     []Message
}

// coarseFrom is the number of messages behind which texts are told as a whole and not
// line by line: an agent that thinks a lot would soon be at the end of its record.
const coarseFrom = 900

func newTeller(directory, tool string, sections []string) *teller {
	return &teller{
		directory: directory, tool: tool, sections: sections,
		texts: map[string]*saying{}, calls: map[string]*toolCall{}, agents: map[string]string{}, open: map[string]string{},
	}
}

// saying is a text on its way.
type saying struct {
	splitter

	kind    MessageType
	agent   string
	thought bool            // it is reasoning, and not what a sub-agent says
	told    strings.Builder // what has come
	held    strings.Builder // lines that are told together
	section string          // that the next line stands in
	level   int             // of its heading
}

// take gives the messages that there are to be told.
func (t *teller) take() []Message {
	out := t.out
	t.out = nil
	return out
}

// add puts a message behind the others, or several if it is too long for one.
func (t *teller) add(kind MessageType, sender, section, text string) {
	if len(t.reads) > 0 {
		paths := t.reads
		t.reads = nil
		t.add(Execution, SenderCopilot, "", readings(paths))
	}
	if text = clean(text); strings.TrimSpace(text) == "" {
		return
	}
	for _, piece := range pieces(text) {
		t.put(Message{Type: kind, Content: piece, Sender: sender, Subsection: section})
	}
}

func (t *teller) put(m Message) {
	t.out = append(t.out, m)
	t.made++
}

// addPart puts a piece of a text that is too long behind the others, with its blanks: it has been split already.
func (t *teller) addPart(x *saying, text string) {
	if text = bare(text); text != "" {
		t.put(Message{Type: x.kind, Content: text, Sender: SenderCopilot, Subsection: x.section})
	}
}

// clean is a text as it may be told. What a control sequence has split may be a
// credential without it.
func clean(text string) string { return strings.TrimRight(bare(text), "\n") }

// bare is clean with all line ends.
func bare(text string) string {
	return secret.Mask(plain.Bare(strings.ToValidUTF8(text, "\uFFFD")))
}

func (t *teller) did(format string, args ...any) {
	t.add(Execution, SenderCopilot, "", fmt.Sprintf(format, args...))
}

func (t *teller) note(format string, args ...any) {
	t.add(Execution, SenderSystem, "", fmt.Sprintf(format, args...))
}

// event translates an event.
func (t *teller) event(e event.Event) {
	_, isNotice := e.Body.(event.Notice)
	t.queued = t.queued && isNotice
	if !continues(e.Body) {
		t.tellFailure()
	}
	if endsThought(e.Body) {
		t.tellThoughts(e.Agent)
	}
	if !t.said(e) {
		t.done(e)
	}
}

// endsThought says whether something begins that the reasoning so far has led to.
func endsThought(b event.Body) bool {
	switch b.(type) {
	case event.MessageStarted, event.MessageDelta, event.MessageEnded, event.ToolStarted, event.QuestionAsked,
		event.SubagentStarted, event.PlanChanged, event.CompactionEnded, event.SessionError, event.TurnEnded:
		return true
	}
	return false
}

// tellThoughts tells the lines of an agent's reasoning that have no end yet: what follows must not overtake them.
func (t *teller) tellThoughts(agent string) {
	for _, key := range slices.Sorted(maps.Keys(t.texts)) {
		if x := t.texts[key]; x.thought && x.agent == agent {
			t.say(x, x.end())
			t.release(x, x.section)
		}
	}
}

// said is what the model says; false if it is something else.
func (t *teller) said(e event.Event) bool {
	switch b := e.Body.(type) {
	case event.ReasoningDelta:
		t.piece(e.Agent, Thinking, b.ID, b.Text)
	case event.ReasoningEnded:
		t.whole(e.Agent, Thinking, b.ID, b.Text)
	case event.MessageDelta:
		t.piece(e.Agent, Execution, b.ID, b.Text)
	case event.MessageEnded:
		t.whole(e.Agent, Execution, b.ID, b.Text)
	default:
		return false
	}
	return true
}

// done is what the agent does.
func (t *teller) done(e event.Event) {
	switch b := e.Body.(type) {
	case event.ToolStarted:
		if b.Name != t.tool || t.tool == "" {
			t.calls[b.ID] = newToolCall(b, e.Time)
		}
	case event.ToolEnded:
		t.toolEnded(b)
	case event.QuestionAsked:
		t.asked(b.Question)
	case event.QuestionClosed:
		t.answered(b.ID, e.Time)
	case event.SessionError:
		t.fail(b, e.Time)
	default:
		t.life(e.Body)
	}
}

// life is what happens besides.
func (t *teller) life(body event.Body) {
	switch b := body.(type) {
	case event.TurnEnded:
		t.add(Execution, SenderCopilot, "", "") // what was read in it is told together
	case event.RunEnded:
		t.cut()
	case event.PlanChanged:
		t.plan(b.Todos)
	case event.SubagentStarted:
		t.agents[b.ID] = oneLine(cmp.Or(b.Title, b.Name, "agent"))
		t.did("The sub-agent %s begins", t.agents[b.ID])
	case event.SubagentEnded:
		t.subagentEnded(b)
	case event.CompactionEnded:
		if b.Error != "" {
			t.add(Error, SenderCopilot, "", "The conversation was not summed up: "+b.Error)
			return
		}
		t.did("Summed up the conversation: %d tokens are now %d", b.Before, b.After)
	case event.Notice:
		t.notice(b)
	}
}

// text finds a text on its way, or begins it. What sub-agents say is for the agent,
// and so a part of its thinking.
func (t *teller) text(agent string, kind MessageType, id string) *saying {
	key := string(kind) + id
	x, thought := t.texts[key], kind == Thinking
	if x == nil {
		if agent != "" {
			kind = Thinking
		}
		x = &saying{kind: kind, agent: agent, thought: thought}
		x.outside = kind == Thinking
		t.texts[key] = x
	}
	return x
}

func (t *teller) piece(agent string, kind MessageType, id, text string) {
	x := t.text(agent, kind, id)
	x.told.WriteString(text)
	t.say(x, x.write(text))
}

// whole is the end of a text, of which pieces may have told all or some.
func (t *teller) whole(agent string, kind MessageType, id, text string) {
	x := t.text(agent, kind, id)
	if rest, ok := strings.CutPrefix(text, x.told.String()); ok { // else it is what was told, but for its ends, or was broken off
		t.say(x, x.write(rest))
	}
	t.close(x)
	delete(t.texts, string(kind)+id)
}

// cut tells what has no end, at the end of a run.
func (t *teller) cut() {
	t.closeAll()
	t.tellFailure()
	clear(t.texts)
	clear(t.calls)
	clear(t.open)
	t.add(Execution, SenderCopilot, "", "")
}

// closeAll tells what is left of the texts that have no end yet.
func (t *teller) closeAll() {
	for _, key := range slices.Sorted(maps.Keys(t.texts)) {
		t.close(t.texts[key])
	}
}

func (t *teller) say(x *saying, blocks []told) {
	for _, block := range blocks {
		section := x.section
		if x.kind == Execution {
			x.enter(block.text, t.sections)
		}
		isPart := block.goes || block.part
		if isPart || x.section != section || x.held.Len()+len(block.text) >= MaxContent {
			t.release(x, section)
		}
		switch {
		case isPart:
			t.addPart(x, block.text)
		case t.made >= coarseFrom:
			x.held.WriteString(block.text + "\n")
		default:
			t.add(x.kind, SenderCopilot, x.section, block.text)
		}
	}
}

// close tells what is left at the end of a text.
func (t *teller) close(x *saying) {
	t.say(x, x.finish())
	t.release(x, x.section)
}

// release tells the lines that are told together.
func (t *teller) release(x *saying, section string) {
	t.add(x.kind, SenderCopilot, section, x.held.String())
	x.held.Reset()
}

var heading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$`)

// enter looks whether a line is a heading, which begins a section with a name, or
// ends one.
func (x *saying) enter(line string, sections []string) {
	m := heading.FindStringSubmatch(line)
	if m == nil {
		return
	}
	level := len(m[1])
	for _, name := range sections {
		if strings.EqualFold(strings.Trim(m[2], "*_: "), name) {
			x.section, x.level = name, level
			return
		}
	}
	if level <= x.level {
		x.section, x.level = "", 0
	}
}

func (t *teller) toolEnded(b event.ToolEnded) {
	call, known := t.calls[b.ID]
	delete(t.calls, b.ID)
	if !known {
		return
	}
	deed := deedOf(call.Name)
	about := deed.about(call.ToolStarted, t.directory)
	switch {
	case b.Error != nil && b.Error.Code == event.CodeInterrupted: // the end of the run tells why
	case b.Error != nil && b.Error.Code == event.CodeExit:
		t.did("%s %s (%s)", deed.did, about, oneLine(b.Error.Text))
	case b.Error != nil:
		t.add(Error, SenderCopilot, "", fmt.Sprintf("Failed to %s %s: %s", deed.does, about, cmp.Or(b.Error.Text, "it gave no reason")))
	case deed.isReading():
		t.reads = append(t.reads, about)
	default:
		t.did("%s", strings.TrimSpace(deed.did+" "+about))
	}
}

// asked tells who is waited for, with the id to answer by. The tools of clients are nobody's business here.
func (t *teller) asked(q event.Question) {
	source := oneLine(cmp.Or(q.Source, "the agent"))
	switch q.Kind {
	case event.AskTool:
		return
	case event.AskPermission:
		t.note("Waits for somebody's permission: %s", oneLine(cmp.Or(q.Title, strings.Join(q.Names, ", "))))
	case event.AskForm:
		t.note("Waits for somebody to fill in a form of %s: %s", source, oneLine(q.Text))
	case event.AskSignIn:
		t.note("Waits for somebody to sign in to %s", source)
	case event.AskPlan:
		t.note("Waits for somebody to approve the plan of the agent")
	case event.AskInput:
		t.note("Waits for somebody's answer: %s", oneLine(q.Text))
	}
	asks := &t.out[len(t.out)-1]
	asks.Request, asks.scopes = q.ID, q.Scopes
	t.open[q.ID] = q.Call
}

// plan tells the to-dos, if they are others than before.
func (t *teller) plan(todos []event.Todo) {
	var list strings.Builder
	for _, todo := range todos {
		list.WriteString("\n- " + oneLine(todo.Title))
	}
	if list.String() != t.todos && len(todos) > 0 {
		t.did("To do:%s", list.String())
	}
	t.todos = list.String()
}

func (t *teller) subagentEnded(b event.SubagentEnded) {
	name := cmp.Or(t.agents[b.ID], "agent")
	delete(t.agents, b.ID)
	if b.Outcome == event.Failed {
		t.add(Error, SenderCopilot, "", fmt.Sprintf("The sub-agent %s has failed: %s", name, cmp.Or(b.Error, "it gave no reason")))
		return
	}
	t.did("The sub-agent %s has ended (%v, %d tool calls)", name, b.Duration.Round(time.Second/10), b.ToolCalls)
}

func (t *teller) notice(b event.Notice) {
	if b.Kind != copilot.NoticeQueued {
		return
	}
	t.queued = true
	var said struct{ Text string }
	if json.Unmarshal(b.Raw, &said) == nil {
		t.note("%s", said.Text)
	}
}
