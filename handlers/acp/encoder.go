package acp

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/plain"
)

// The kinds of chunks.
const (
	userMessage  = "user_message_chunk"
	agentMessage = "agent_message_chunk"
	agentThought = "agent_thought_chunk"
)

// item is what an event means for an editor; one of the members is set.
type item struct {
	update any             // of the session
	asked  *event.Question // to be asked
	closed string          // the id of a question that needs no answer any more
	run    string
	ended  *runEnd // of the run
	model  string  // that is now used

	sessionClosed bool // queued runs never end
}

// encoder makes updates of the entries of a record. It is for one goroutine.
type encoder struct {
	directory string
	can       acp.ClientCapabilities
	isOwn     func(run string) bool // the editor has sent the prompt of the run, and shows it

	last      uint64 // number of the last entry
	out       []item
	open      follow.Questions
	texts     map[string]*openText
	calls     map[string]*openCall
	blocks    *event.Blocks // of the past; nil afterwards
	cause     string        // the last error of the run
	compacted int           // compactions so far
}

// openText is a message or a thought that has not ended.
type openText struct {
	kind string
	sent int  // bytes
	live bool // its deltas are sent; otherwise its end has what is missing
	hole bool // entries are missing since its start: they may be its deltas
}

func newEncoder(directory string, can acp.ClientCapabilities, isOwn func(string) bool) *encoder {
	return &encoder{directory: directory, can: can, isOwn: isOwn, texts: map[string]*openText{}, calls: map[string]*openCall{}}
}

// announceCalls encodes the open calls again, for an editor that did not see their starts.
func (c *encoder) announceCalls() {
	for _, call := range c.calls {
		c.add(call.call)
	}
}

// take returns what was encoded since the last call.
func (c *encoder) take() []item {
	out := c.out
	c.out = nil
	return out
}

func (c *encoder) add(update any) { c.out = append(c.out, item{update: update}) }

// beginPast makes the encoder read entries that happened before: of texts that have ended, it encodes only the whole text.
func (c *encoder) beginPast() { c.blocks = &event.Blocks{} }

// endPast encodes what is there of texts that have not ended, and continues with their deltas.
func (c *encoder) endPast() {
	for _, b := range c.blocks.Open() {
		id := textID(b.Start)
		if t := c.texts[id]; t != nil {
			t.live = true
			c.addText(id, t, b.Text)
		}
	}
	c.blocks = nil
}

// skipGap is called when entries are lost. Texts that were open there are completed by their ends; questions may be closed.
func (c *encoder) skipGap(isOpen func(question string) bool) {
	c.open = slices.DeleteFunc(c.open, func(q event.Question) bool { return !isOpen(q.ID) })
	for _, t := range c.texts {
		t.live = false
	}
}

// ask encodes an open question, unless it is known.
func (c *encoder) ask(q event.Question) {
	if c.open.Add(q) && c.blocks == nil {
		c.out = append(c.out, item{asked: &q})
	}
}

// encode encodes an entry.
func (c *encoder) encode(e follow.Entry) {
	if c.blocks != nil {
		c.blocks.Apply(e.Value)
	}
	if c.last != 0 && e.N != c.last+1 {
		for _, t := range c.texts {
			t.hole = true
		}
	}
	c.last = e.N
	switch {
	case e.Superseded && c.isBehindHole(e.Value.Body): // the end has the whole text
	case c.encodeText(e.Value):
	case c.encodeWork(e.Value):
	case c.encodeRun(e.Value):
	default:
		c.encodeState(e.Value)
	}
}

// isBehindHole reports whether a piece of a text may not continue what was sent. No further piece is sent then.
func (c *encoder) isBehindHole(b event.Body) bool {
	var t *openText
	switch b := b.(type) {
	case event.MessageDelta:
		t = c.texts[b.ID]
	case event.ReasoningDelta:
		t = c.texts[b.ID]
	}
	if t == nil || !t.hole {
		return false
	}
	t.live = false
	return true
}

// encodeText encodes prompts, messages and thoughts. Those of sub-agents are left out: the protocol cannot tell them apart.
func (c *encoder) encodeText(e event.Event) bool {
	switch b := e.Body.(type) {
	case event.UserMessage:
		if c.blocks != nil || !c.isOwn(e.Run) || b.Prompt.Steer {
			c.addPrompt(e.Run, b.Prompt)
		}
	case event.MessageStarted:
		c.beginText(e, b.ID, agentMessage)
	case event.ReasoningStarted:
		c.beginText(e, b.ID, agentThought)
	case event.MessageDelta:
		c.addDelta(b.ID, b.Text)
	case event.ReasoningDelta:
		c.addDelta(b.ID, b.Text)
	case event.MessageEnded:
		c.endText(e, b.ID, agentMessage, b.Text)
	case event.ReasoningEnded:
		c.endText(e, b.ID, agentThought, b.Text)
	default:
		return false
	}
	return true
}

func textID(b event.Body) string {
	switch b := b.(type) {
	case event.MessageStarted:
		return b.ID
	case event.ReasoningStarted:
		return b.ID
	}
	return ""
}

func (c *encoder) beginText(e event.Event, id, kind string) {
	if e.Agent == "" {
		c.texts[id] = &openText{kind: kind, live: c.blocks == nil}
	}
}

func (c *encoder) addDelta(id, text string) {
	if t := c.texts[id]; t != nil && t.live {
		c.addText(id, t, text)
	}
}

// addText adds a piece of a text, to the previous piece if nothing came between.
func (c *encoder) addText(id string, t *openText, text string) {
	t.sent += len(text)
	if text == "" {
		return
	}
	if n := len(c.out); n > 0 {
		last, isChunk := c.out[n-1].update.(chunk)
		before, isText := last.Content.(textBlock)
		if isChunk && isText && last.MessageID == id && last.Kind == t.kind {
			last.Content = textOf(before.Text + text)
			c.out[n-1].update = last
			return
		}
	}
	c.add(chunk{t.kind, textOf(text), id})
}

// endText adds what is missing of a text.
func (c *encoder) endText(e event.Event, id, kind, text string) {
	t := c.texts[id]
	delete(c.texts, id)
	if e.Agent != "" {
		return
	}
	if t == nil {
		t = &openText{kind: kind} // its start is in a gap
	}
	if len(text) > t.sent {
		c.addText(id, t, text[t.sent:])
	}
}

// addPrompt shows a prompt that the editor does not know, or that is past.
func (c *encoder) addPrompt(run string, p event.Prompt) {
	c.add(chunk{userMessage, textOf(p.Text), run})
	for _, a := range p.Attachments {
		switch {
		case len(a.Data) > 0:
			c.add(chunk{userMessage, acp.Content{Type: "image", Data: a.Data, MimeType: a.Type}, run})
		case a.Path != "":
			c.add(chunk{userMessage, acp.Content{Type: "resource_link", URI: fileURI(absolute(c.directory, a.Path)), Name: a.Place()}, run})
		case a.Text != "":
			c.add(chunk{userMessage, textOf("\n\n" + a.Text), run})
		}
	}
}

// encodeRun encodes questions and the end of a run.
func (c *encoder) encodeRun(e event.Event) bool {
	switch b := e.Body.(type) {
	case event.RunStarted:
		c.cause = ""
	case event.QuestionAsked:
		c.ask(b.Question)
	case event.QuestionClosed:
		c.open = slices.DeleteFunc(c.open, func(q event.Question) bool { return q.ID == b.ID })
		c.out = append(c.out, item{closed: b.ID})
	case event.SessionError:
		c.addError(e, b)
	case event.RunEnded:
		c.endRun(e.Run, b)
	case event.SessionClosed:
		c.out = append(c.out, item{sessionClosed: true})
	default:
		return false
	}
	return true
}

// addError shows an error in a notice. An editor that has none sees in a message what the agent cannot do for it.
func (c *encoder) addError(e event.Event, b event.SessionError) {
	c.cause = strings.TrimSpace(b.Text + " " + b.Hint)
	switch {
	case c.blocks != nil:
	case c.can.Session.Notices != nil:
		c.add(noticeUpdate{"notice", "error", plain.Text(b.Text), plain.Text(b.Hint)})
	case e.Run == "" && b.Kind == fault.Invalid:
		c.add(chunk{agentMessage, textOf(plain.Text(c.cause) + "\n\n"), ""})
	}
}

// failCalls ends the open calls of runs that have ended.
func (c *encoder) failCalls(hasEnded func(run string) bool) {
	for id, call := range c.calls {
		if hasEnded(call.run) {
			c.add(toolCall{Kind: callUpdate, ID: id, Status: "failed"})
			delete(c.calls, id)
		}
	}
}

// endRun ends what the run has left open. The end of a queued run of the editor says that its prompt joined another one.
func (c *encoder) endRun(run string, b event.RunEnded) {
	c.failCalls(func(of string) bool { return of == run })
	reason := b.Text
	if b.Outcome == event.Failed && c.cause != "" && strings.Contains(c.cause, reason) {
		reason = c.cause // the same, with what to do about it
	}
	reason = cmp.Or(reason, "the agent did not say why")
	if b.Outcome == event.Failed && (c.blocks != nil || !c.isOwn(run)) { // otherwise the response to the prompt says so
		c.add(chunk{agentMessage, textOf("The run failed: " + plain.Text(reason)), "end-" + run})
	}
	c.out = append(c.out, item{run: run, ended: &runEnd{outcome: b.Outcome, reason: plain.Text(reason)}})
}

// encodeState encodes what the session is. Everything else has no form in the protocol.
func (c *encoder) encodeState(e event.Event) {
	switch b := e.Body.(type) {
	case event.TitleChanged:
		c.add(infoUpdate{"session_info_update", plain.Text(b.Title)})
	case event.UsageChanged:
		if b.Limit > 0 {
			c.add(usageUpdate{"usage_update", b.Used, b.Limit})
		}
	case event.ModelChanged:
		if c.blocks == nil {
			c.out = append(c.out, item{model: b.Model})
		}
	case event.ServerChanged:
		c.addServer(b.Server)
	case event.CompactionStarted:
		c.compacted++
		c.addCompaction("in_progress", "")
	case event.CompactionEnded:
		if b.Error != "" {
			c.addCompaction("failed", b.Error)
		} else {
			c.addCompaction("completed", "")
		}
	case event.SessionOpened, event.PolicyChanged, event.QueueChanged, event.TurnStarted, event.TurnEnded, event.ModelCalled, event.Notice,
		event.SubagentStarted, event.SubagentEnded, event.FilesRestored: // ignored
	}
}

// addServer shows why an MCP server did not start.
func (c *encoder) addServer(s event.Server) {
	if s.State == event.ServerFailed && c.can.Session.Notices != nil && c.blocks == nil {
		c.add(noticeUpdate{"notice", "warning", "The MCP server " + plain.Text(s.Name) + " did not start.", plain.Text(s.Error)})
	}
}

func (c *encoder) addCompaction(status, problem string) {
	if c.can.Session.Compaction != nil {
		c.add(compactionUpdate{"compaction_update", compactionID(c.compacted), status, plain.Text(problem)})
	}
}

// holdsOutput reports whether the output of a tool waits for [encoder.flushOutput].
func (c *encoder) holdsOutput() bool {
	for _, call := range c.calls {
		if call.unsent {
			return true
		}
	}
	return false
}

// flushOutput encodes the output of tools so far, of each at most once in [outputEvery] unless nothing else happens.
func (c *encoder) flushOutput(now time.Time, idle bool) {
	for id, call := range c.calls {
		if call.unsent && (idle || now.Sub(call.shown) >= outputEvery) {
			call.unsent, call.shown = false, now
			c.add(toolCall{Kind: callUpdate, ID: id, Content: append(slices.Clone(call.call.Content), text(call.output))})
		}
	}
}
