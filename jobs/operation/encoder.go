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

// encoder translates the events of a session into messages. It is not safe for concurrent use. It never
// repeats the user's input, that is, the prompt and its document.
type encoder struct {
	directory string
	tool      string   // the tool for the report, which is not shown
	sections  []string // headings that name a section of messages

	texts   map[string]*textStream // unfinished texts
	calls   map[string]*toolCall   // unfinished tool calls
	agents  map[string]string      // names of active sub-agents
	open    map[string]string      // questions to users, with the tool calls that wait for them
	reads   []string               // consecutive reads, which share one message
	todos   string                 // as last reported
	queued  bool                   // the run waits for its turn
	failure failure                // the latest failure
	made    int                    // number of messages
	out     []Message
}

// coarseFrom is the number of messages from which texts are encoded as a whole instead of line by line, so
// that an agent that thinks a lot does not use up its messages.
const coarseFrom = 900

func newEncoder(directory, tool string, sections []string) *encoder {
	return &encoder{
		directory: directory, tool: tool, sections: sections,
		texts: map[string]*textStream{}, calls: map[string]*toolCall{}, agents: map[string]string{}, open: map[string]string{},
	}
}

// textStream is an unfinished text.
type textStream struct {
	splitter

	kind    MessageType
	agent   string
	thought bool            // reasoning, as opposed to the text of a sub-agent
	sent    strings.Builder // received so far
	held    strings.Builder // lines for the next message
	section string          // section of the next line
	level   int             // level of its heading
}

// takeMessages returns the pending messages and forgets them.
func (t *encoder) takeMessages() []Message {
	out := t.out
	t.out = nil
	return out
}

// add appends a message, or several if the text is too long for one.
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

// addPart appends a piece of a split text and keeps its spaces.
func (t *encoder) addPart(x *textStream, text string) {
	if text = bare(text); text != "" {
		t.append(Message{Type: x.kind, Content: text, Sender: SenderCopilot, Subsection: x.section})
	}
}

// clean removes control sequences and masks credentials, in that order: a control sequence could split a
// credential.
func clean(text string) string { return strings.TrimRight(bare(text), "\n") }

// bare is like clean but keeps line breaks at the end.
func bare(text string) string {
	return secret.Mask(plain.StripAll(strings.ToValidUTF8(text, "\uFFFD")))
}

func (t *encoder) addAction(format string, args ...any) {
	t.add(Execution, SenderCopilot, "", fmt.Sprintf(format, args...))
}

func (t *encoder) addNotice(format string, args ...any) {
	t.add(Execution, SenderSystem, "", fmt.Sprintf(format, args...))
}

// event encodes an event.
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

// endsThought reports whether the event ends the preceding reasoning.
func endsThought(b event.Body) bool {
	switch b.(type) {
	case event.MessageStarted, event.MessageDelta, event.MessageEnded, event.ToolStarted, event.QuestionAsked,
		event.SubagentStarted, event.PlanChanged, event.CompactionEnded, event.SessionError, event.TurnEnded:
		return true
	}
	return false
}

// flushThoughts emits the unfinished lines of an agent's reasoning, so that later messages cannot overtake
// them.
func (t *encoder) flushThoughts(agent string) {
	for _, key := range slices.Sorted(maps.Keys(t.texts)) {
		if x := t.texts[key]; x.thought && x.agent == agent {
			t.addText(x, x.end())
			t.flushLines(x, x.section)
		}
	}
}

// encodeText encodes the model's texts. It returns false for other events.
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

// encodeAction encodes what the agent does.
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
		t.closed(b, e.Time)
	case event.SessionError:
		t.deferFailure(b, e.Time)
	default:
		t.encodeState(e.Body)
	}
}

// encodeState encodes all other events.
func (t *encoder) encodeState(body event.Body) {
	switch b := body.(type) {
	case event.TurnEnded:
		t.add(Execution, SenderCopilot, "", "") // emits the reads of the turn
	case event.RunEnded:
		t.endUnfinished()
	case event.PlanChanged:
		t.plan(b.Todos)
	case event.SubagentStarted:
		t.agents[b.ID] = oneLine(cmp.Or(b.Title, b.Name, "agent"))
		t.addAction("The sub-agent %s started", t.agents[b.ID])
	case event.SubagentEnded:
		t.subagentEnded(b)
	case event.CompactionEnded:
		if b.Error != "" {
			t.add(Error, SenderCopilot, "", "The conversation could not be compacted: "+b.Error)
			return
		}
		t.addAction("Compacted the conversation from %d to %d tokens", b.Before, b.After)
	case event.Notice:
		t.notice(b)
	case event.SessionOpened, event.SessionClosed, event.ModelChanged, event.TitleChanged, event.PolicyChanged, event.UsageChanged,
		event.ModelCalled, event.CompactionStarted, event.ServerChanged, event.RunStarted, event.UserMessage, event.QueueChanged,
		event.TurnStarted, event.ReasoningStarted, event.MessageStarted, event.ToolOutput, event.FilesRestored: // ignored
	}
}

// text returns an unfinished text, or starts one. Texts of sub-agents are addressed to the agent and count as
// its thinking.
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

// endText ends a text, some or all of which its deltas may have emitted.
func (t *encoder) endText(agent string, kind MessageType, id, text string) {
	x := t.text(agent, kind, id)
	if rest, ok := strings.CutPrefix(text, x.sent.String()); ok { // otherwise it was emitted except for its ends, or was interrupted
		t.addText(x, x.write(rest))
	}
	t.close(x)
	delete(t.texts, string(kind)+id)
}

// endUnfinished emits what is unfinished at the end of a run.
func (t *encoder) endUnfinished() {
	t.closeAll()
	t.flushFailure()
	clear(t.texts)
	clear(t.calls)
	clear(t.open)
	t.add(Execution, SenderCopilot, "", "")
}

// closeAll emits the rest of all unfinished texts.
func (t *encoder) closeAll() {
	for _, key := range slices.Sorted(maps.Keys(t.texts)) {
		t.close(t.texts[key])
	}
}

func (t *encoder) addText(x *textStream, blocks []textPart) {
	for _, block := range blocks {
		section := x.section
		if x.kind == Execution {
			x.enterSection(block.text, t.sections)
		}
		isPart := block.extent != whole
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

// close emits the rest of a text.
func (t *encoder) close(x *textStream) {
	t.addText(x, x.finish())
	t.flushLines(x, x.section)
}

// flushLines emits the held lines as one message.
func (t *encoder) flushLines(x *textStream, section string) {
	t.add(x.kind, SenderCopilot, section, x.held.String())
	x.held.Reset()
}

var heading = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$`)

// enterSection updates the section if a line is a heading, which starts a named section or ends the current one.
func (x *textStream) enterSection(line string, sections []string) {
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
	action := toolActionOf(call.Name)
	about := action.about(call.ToolStarted, t.directory)
	switch {
	case b.Error != nil && b.Error.Code == event.CodeInterrupted: // the end of the run gives the reason
	case b.Error != nil && b.Error.Code == event.CodeExit:
		t.addAction("%s %s (%s)", action.past, about, oneLine(b.Error.Text))
	case b.Error != nil:
		t.add(Error, SenderCopilot, "", fmt.Sprintf("Failed to %s %s: %s", action.present, about, cmp.Or(b.Error.Text, "no reason given")))
	case action.isReading():
		t.reads = append(t.reads, about)
	default:
		t.addAction("%s", strings.TrimSpace(action.past+" "+about))
	}
}

// asked encodes a question to users, with the id for answers. Calls of client tools are not reported.
func (t *encoder) asked(q event.Question) {
	text := askingText(q)
	if text == "" {
		return
	}
	t.add(Execution, SenderCopilot, "", "") // emits the reads, which come before it
	first := len(t.out)
	t.addNotice("Waiting for %s", text)
	t.out[first].Request, t.out[first].scopes = q.ID, q.Scopes
	t.open[q.ID] = q.Call
}

// askingText says what a question waits for, or "" for a call of a client tool.
func askingText(q event.Question) string {
	source := oneLine(cmp.Or(q.Source, "the agent"))
	switch q.Kind {
	case event.AskTool:
	case event.AskPermission:
		return "permission: " + permissionText(q)
	case event.AskForm:
		return fmt.Sprintf("someone to fill in a form of %s: %s", source, oneLine(q.Text))
	case event.AskSignIn:
		return "someone to sign in to " + source
	case event.AskPlan:
		return "someone to approve the agent's plan"
	case event.AskInput:
		return "an answer: " + oneLine(q.Text)
	}
	return ""
}

// closed encodes the end of a question, so that other clients no longer offer to answer it.
func (t *encoder) closed(q event.QuestionClosed, at time.Time) {
	if _, asked := t.open[q.ID]; !asked { // a call of a client tool
		return
	}
	t.resumeClock(q.ID, at)
	t.addNotice("%s", endingText(q))
	t.out[len(t.out)-1].Closes = q.ID
}

// endingText says how a question ended.
func endingText(q event.QuestionClosed) string {
	switch {
	case q.Ending == event.Expired:
		return "Nobody answered in time"
	case q.Ending == event.Withdrawn:
		return "No answer is needed any more"
	case q.Kind != event.AskPermission && q.Kind != event.AskPlan:
		return "Answered"
	case q.Answer.Approved:
		return "Allowed"
	}
	return "Refused"
}

// permissionText returns what the agent wants to do: in one line, followed by the whole command, difference or address if that says more.
func permissionText(q event.Question) string {
	line := oneLine(cmp.Or(q.Title, strings.Join(q.Names, ", ")))
	if strings.Contains(line, strings.TrimSpace(q.Detail)) {
		return line
	}
	return line + "\n\n" + q.Detail
}

// plan emits the to-dos if they changed.
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
		t.add(Error, SenderCopilot, "", fmt.Sprintf("The sub-agent %s failed: %s", name, cmp.Or(b.Error, "no reason given")))
		return
	}
	t.addAction("The sub-agent %s finished (%v, %d tool calls)", name, b.Duration.Round(time.Second/10), b.ToolCalls)
}

func (t *encoder) notice(b event.Notice) {
	if b.Kind != copilot.NoticeQueued {
		return
	}
	t.queued = true
	var content struct{ Text string }
	if json.Unmarshal(b.Raw, &content) == nil {
		t.addNotice("%s", content.Text)
	}
}
