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

// encoder translates what happens in a session into messages. It is used by one
// goroutine. What the user has said, the prompt and its document, it never tells.
type encoder struct {
	directory string
	tool      string   // by which the model reports; it is not told
	sections  []string // headings that have a name in messages

	texts   map[string]*textStream // those that have no end yet
	calls   map[string]*toolCall   // of tools, likewise
	agents  map[string]string      // names of the sub-agents at work
	open    map[string]string      // questions that people have to answer, with the tool calls that wait for them
	reads   []string               // files read one after another that are told together
	todos   string                 // as they were told last
	queued  bool                   // the run waits for its turn
	failure failure                // the last
	made    int                    // how many messages
	out     []Message
}

// coarseFrom is the number of messages behind which texts are told as a whole and not
// line by line: an agent that thinks a lot would soon be at the end of its record.
const coarseFrom = 900

func newEncoder(directory, tool string, sections []string) *encoder {
	return &encoder{
		directory: directory, tool: tool, sections: sections,
		texts: map[string]*textStream{}, calls: map[string]*toolCall{}, agents: map[string]string{}, open: map[string]string{},
	}
}

// textStream is a text on its way.
type textStream struct {
	splitter

	kind    MessageType
	agent   string
	thought bool            // it is reasoning, and not what a sub-agent says
	sent    strings.Builder // what has come
	held    strings.Builder // lines that are told together
	section string          // that the next line stands in
	level   int             // of its heading
}

// takeMessages gives the messages that there are to be told.
func (t *encoder) takeMessages() []Message {
	out := t.out
	t.out = nil
	return out
}

// add puts a message behind the others, or several if it is too long for one.
func (t *encoder) add(kind MessageType, sender, section, text string) {
	if len(t.reads) > 0 {
		paths := t.reads
		t.reads = nil
		t.add(Execution, SenderCopilot, "", readSummary(paths))
	}
	if text = clean(text); strings.TrimSpace(text) == "" {
		return
	}
	for _, piece := range pieces(text) {
		t.append(Message{Type: kind, Content: piece, Sender: sender, Subsection: section})
	}
}

func (t *encoder) append(m Message) {
	t.out = append(t.out, m)
	t.made++
}

// addPart puts a piece of a text that is too long behind the others, with its blanks: it has been split already.
func (t *encoder) addPart(x *textStream, text string) {
	if text = bare(text); text != "" {
		t.append(Message{Type: x.kind, Content: text, Sender: SenderCopilot, Subsection: x.section})
	}
}

// clean is a text as it may be told. What a control sequence has split may be a
// credential without it.
func clean(text string) string { return strings.TrimRight(bare(text), "\n") }

// bare is clean with all line ends.
func bare(text string) string {
	return secret.Mask(plain.StripAll(strings.ToValidUTF8(text, "\uFFFD")))
}

func (t *encoder) addAction(format string, args ...any) {
	t.add(Execution, SenderCopilot, "", fmt.Sprintf(format, args...))
}

func (t *encoder) note(format string, args ...any) {
	t.add(Execution, SenderSystem, "", fmt.Sprintf(format, args...))
}

// event translates an event.
func (t *encoder) event(e event.Event) {
	_, isNotice := e.Body.(event.Notice)
	t.queued = t.queued && isNotice
	if !continues(e.Body) {
		t.flushFailure()
	}
	if endsThought(e.Body) {
		t.flushThoughts(e.Agent)
	}
	if !t.encodeText(e) {
		t.encodeAction(e)
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

// flushThoughts tells the lines of an agent's reasoning that have no end yet: what follows must not overtake them.
func (t *encoder) flushThoughts(agent string) {
	for _, key := range slices.Sorted(maps.Keys(t.texts)) {
		if x := t.texts[key]; x.thought && x.agent == agent {
			t.addText(x, x.end())
			t.flushLines(x, x.section)
		}
	}
}

// encodeText is what the model says; false if it is something else.
func (t *encoder) encodeText(e event.Event) bool {
	switch b := e.Body.(type) {
	case event.ReasoningDelta:
		t.addDelta(e.Agent, Thinking, b.ID, b.Text)
	case event.ReasoningEnded:
		t.endText(e.Agent, Thinking, b.ID, b.Text)
	case event.MessageDelta:
		t.addDelta(e.Agent, Execution, b.ID, b.Text)
	case event.MessageEnded:
		t.endText(e.Agent, Execution, b.ID, b.Text)
	default:
		return false
	}
	return true
}

// encodeAction is what the agent does.
func (t *encoder) encodeAction(e event.Event) {
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
		t.deferFailure(b, e.Time)
	default:
		t.encodeState(e.Body)
	}
}

// encodeState is what happens besides.
func (t *encoder) encodeState(body event.Body) {
	switch b := body.(type) {
	case event.TurnEnded:
		t.add(Execution, SenderCopilot, "", "") // what was read in it is told together
	case event.RunEnded:
		t.endUnfinished()
	case event.PlanChanged:
		t.plan(b.Todos)
	case event.SubagentStarted:
		t.agents[b.ID] = oneLine(cmp.Or(b.Title, b.Name, "agent"))
		t.addAction("The sub-agent %s begins", t.agents[b.ID])
	case event.SubagentEnded:
		t.subagentEnded(b)
	case event.CompactionEnded:
		if b.Error != "" {
			t.add(Error, SenderCopilot, "", "The conversation was not summed up: "+b.Error)
			return
		}
		t.addAction("Summed up the conversation: %d tokens are now %d", b.Before, b.After)
	case event.Notice:
		t.notice(b)
	}
}

// text finds a text on its way, or begins it. What sub-agents say is for the agent,
// and so a part of its thinking.
func (t *encoder) text(agent string, kind MessageType, id string) *textStream {
	key := string(kind) + id
	x, thought := t.texts[key], kind == Thinking
	if x == nil {
		if agent != "" {
			kind = Thinking
		}
		x = &textStream{kind: kind, agent: agent, thought: thought}
		x.outside = kind == Thinking
		t.texts[key] = x
	}
	return x
}

func (t *encoder) addDelta(agent string, kind MessageType, id, text string) {
	x := t.text(agent, kind, id)
	x.sent.WriteString(text)
	t.addText(x, x.write(text))
}

// endText is the end of a text, of which pieces may have told all or some.
func (t *encoder) endText(agent string, kind MessageType, id, text string) {
	x := t.text(agent, kind, id)
	if rest, ok := strings.CutPrefix(text, x.sent.String()); ok { // else it is what was told, but for its ends, or was broken off
		t.addText(x, x.write(rest))
	}
	t.close(x)
	delete(t.texts, string(kind)+id)
}

// endUnfinished tells what has no end, at the end of a run.
func (t *encoder) endUnfinished() {
	t.closeAll()
	t.flushFailure()
	clear(t.texts)
	clear(t.calls)
	clear(t.open)
	t.add(Execution, SenderCopilot, "", "")
}

// closeAll tells what is left of the texts that have no end yet.
func (t *encoder) closeAll() {
	for _, key := range slices.Sorted(maps.Keys(t.texts)) {
		t.close(t.texts[key])
	}
}

func (t *encoder) addText(x *textStream, blocks []textPart) {
	for _, block := range blocks {
		section := x.section
		if x.kind == Execution {
			x.noteHeading(block.text, t.sections)
		}
		isPart := block.goes || block.part
		if isPart || x.section != section || x.held.Len()+len(block.text) >= MaxContent {
			t.flushLines(x, section)
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
func (t *encoder) close(x *textStream) {
	t.addText(x, x.finish())
	t.flushLines(x, x.section)
}

// flushLines tells the lines that are told together.
func (t *encoder) flushLines(x *textStream, section string) {
	t.add(x.kind, SenderCopilot, section, x.held.String())
	x.held.Reset()
}

var heading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$`)

// noteHeading looks whether a line is a heading, which begins a section with a name, or
// ends one.
func (x *textStream) noteHeading(line string, sections []string) {
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

func (t *encoder) toolEnded(b event.ToolEnded) {
	call, known := t.calls[b.ID]
	delete(t.calls, b.ID)
	if !known {
		return
	}
	deed := toolActionOf(call.Name)
	about := deed.about(call.ToolStarted, t.directory)
	switch {
	case b.Error != nil && b.Error.Code == event.CodeInterrupted: // the end of the run tells why
	case b.Error != nil && b.Error.Code == event.CodeExit:
		t.addAction("%s %s (%s)", deed.past, about, oneLine(b.Error.Text))
	case b.Error != nil:
		t.add(Error, SenderCopilot, "", fmt.Sprintf("Failed to %s %s: %s", deed.present, about, cmp.Or(b.Error.Text, "it gave no reason")))
	case deed.isReading():
		t.reads = append(t.reads, about)
	default:
		t.addAction("%s", strings.TrimSpace(deed.past+" "+about))
	}
}

// asked tells who is waited for, with the id to answer by. The tools of clients are nobody's business here.
func (t *encoder) asked(q event.Question) {
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
func (t *encoder) plan(todos []event.Todo) {
	var list strings.Builder
	for _, todo := range todos {
		list.WriteString("\n- " + oneLine(todo.Title))
	}
	if list.String() != t.todos && len(todos) > 0 {
		t.addAction("To do:%s", list.String())
	}
	t.todos = list.String()
}

func (t *encoder) subagentEnded(b event.SubagentEnded) {
	name := cmp.Or(t.agents[b.ID], "agent")
	delete(t.agents, b.ID)
	if b.Outcome == event.Failed {
		t.add(Error, SenderCopilot, "", fmt.Sprintf("The sub-agent %s has failed: %s", name, cmp.Or(b.Error, "it gave no reason")))
		return
	}
	t.addAction("The sub-agent %s has ended (%v, %d tool calls)", name, b.Duration.Round(time.Second/10), b.ToolCalls)
}

func (t *encoder) notice(b event.Notice) {
	if b.Kind != copilot.NoticeQueued {
		return
	}
	t.queued = true
	var said struct{ Text string }
	if json.Unmarshal(b.Raw, &said) == nil {
		t.note("%s", said.Text)
	}
}
