package ui

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/handlers/wire"
)

// runEncoder turns the events of the domain into messages. What it makes of an entry depends only
// on the run up to there, so every UI and every history have the same numbers.
type runEncoder struct {
	run       string
	begun     uint64     // the number of the entry that began the run; 0 between runs
	since     int64      // when that was, in ms
	seq       int        // of the next event
	asks      int        // prompts of the run so far
	status    string     // of the run; "" between runs
	steps     []toolStep // all of the run
	heldBlock *answerBlock
	open      []event.Question  // oldest first
	denied    map[string]string // by call: why its permission was refused
	spoke     map[string]int64  // by block: when it began, in ms
	deltas    map[string]bool   // by block: whether deltas of it were sent
	out       []message         // the messages of the entry
	at        follow.Entry
}

// The blocks of a run itself, and of its usage, which adds up.
const (
	blockRun   = "run"
	blockUsage = "usage"
)

// answerBlock is a block of the answer. It is held until the next one or the end of the run: the
// last one is final.
type answerBlock struct {
	id, text    string
	ms, started int64
}

func newRunEncoder() *runEncoder {
	return &runEncoder{denied: map[string]string{}, spoke: map[string]int64{}, deltas: map[string]bool{}}
}

// encode returns the messages of an entry, which are valid until the next call; none if this dialect ignores it.
func (t *runEncoder) encode(e follow.Entry) []message {
	t.out, t.at = t.out[:0], e
	if run := e.Value.Run; run != "" && run != t.run {
		if t.status != "" { // its end is no longer kept
			t.endUnknownRun()
		}
		t.beginRun(run)
		if !isBegin(e) { // its beginning is no longer kept
			t.setStatus(statusRunning, "")
		}
	}
	if !t.encodeText() && !t.encodeAction() && !t.encodeQuestion() {
		t.encodeState()
	}
	for i := range t.out {
		t.out[i].time, t.out[i].entry = cmp.Or(t.out[i].time, t.ms()), e.N
	}
	return t.out
}

// reset forgets the run.
func (t *runEncoder) reset() {
	at, out := t.at, t.out
	*t = *newRunEncoder()
	t.at, t.out = at, out
}

// beginRun begins with a run.
func (t *runEncoder) beginRun(run string) {
	t.reset()
	t.run, t.begun, t.since = run, t.at.N, t.ms()
}

// addNumbered adds an event with a number of its own.
func (t *runEncoder) addNumbered(e agentEvent, id string) { t.addNumberedFor(t.at.Value.Agent, e, id) }

// addNumberedFor is addNumbered for another agent than that of the entry. Between runs there are
// no numbers: what the agent does by itself has none.
func (t *runEncoder) addNumberedFor(agent string, e agentEvent, id string) {
	if t.run == "" {
		t.out = append(t.out, message{method: notifyEvent, to: forDeltas, seq: -1, event: e, id: id, agent: agent})
		return
	}
	t.out = append(t.out, message{method: notifyEvent, run: t.run, seq: t.seq, event: e, id: id, agent: agent})
	t.seq++
}

// addUnnumbered adds an event without a number, for some UIs.
func (t *runEncoder) addUnnumbered(to audience, e agentEvent) {
	t.out = append(t.out, message{method: notifyEvent, to: to, run: t.run, seq: t.seq - 1, event: e, agent: t.at.Value.Agent})
}

// addLatest is addUnnumbered for events of which only the newest of a kind counts.
func (t *runEncoder) addLatest(kind string, e agentEvent) {
	t.addUnnumbered(forDeltas, e)
	t.out[len(t.out)-1].latest = kind
}

// setStatus sets the status of the run.
func (t *runEncoder) setStatus(status, text string) {
	if t.run == "" {
		return
	}
	t.status = status
	t.out = append(t.out, message{method: notifyStatus, run: t.run, status: status, text: plain.Text(text)})
}

func (t *runEncoder) ms() int64 { return t.at.Value.Time.UnixMilli() }

// encodeText encodes what the user and the model say.
func (t *runEncoder) encodeText() bool {
	switch b := t.at.Value.Body.(type) {
	case event.UserMessage:
		t.prompt(b.Prompt)
	case event.ReasoningStarted:
		t.noteBlockStart("reasoning", b.ID)
		t.noteTextStart("reasoning", b.ID)
	case event.MessageStarted:
		t.noteBlockStart("text", b.ID)
		t.noteTextStart(messageTarget(t.at.Value.Agent), b.ID)
	case event.ReasoningDelta:
		t.noteBlockStart("reasoning", b.ID)
		t.addDelta("reasoning", b.ID, b.Text)
	case event.ReasoningEnded:
		if b.Text == "" {
			t.retractText("reasoning", b.ID)
			break
		}
		t.addBlock(t.at.Value.Agent, "reasoning", t.endBlock("reasoning", b.ID, b.Text))
	case event.MessageDelta:
		t.noteBlockStart("text", b.ID)
		t.addDelta(messageTarget(t.at.Value.Agent), b.ID, b.Text)
	case event.MessageEnded:
		t.message(b)
	case event.SessionOpened, event.SessionClosed, event.TurnStarted, event.TurnEnded: // ignored
	default:
		return false
	}
	return true
}

// prompt encodes a prompt. Its id is its number in the run.
func (t *runEncoder) prompt(p event.Prompt) {
	steers := t.asks > 0
	t.asks++
	t.addUnnumbered(forOthers, promptEvent{"hidden_user_message", plain.Text(p.Text), steers, attachments(p.Attachments)})
	t.out[len(t.out)-1].id = strconv.Itoa(t.asks)
}

func attachments(of []event.Attachment) []promptFile {
	return wire.List(of, func(a event.Attachment) promptFile {
		return promptFile{plain.Text(cmp.Or(a.Name, filepath.Base(a.Path))), plain.Text(a.Path), a.First, a.Last, a.Type, a.Data, len(a.Data) + len(a.Text)}
	})
}

// messageTarget returns the target of a message: the text of a sub-agent is not part of the
// answer.
func messageTarget(agent string) string {
	if agent != "" {
		return "reasoning"
	}
	return "text"
}

// noteTextStart marks the start of a text, for histories.
func (t *runEncoder) noteTextStart(target, id string) {
	t.addUnnumbered(forDeltas, delta{Type: "delta", Target: target, ID: id})
	t.markPart(blockKey(target, id), false)
	t.out[len(t.out)-1].begins = true
}

func (t *runEncoder) addDelta(target, id, text string) {
	t.deltas[blockKey(target, id)] = true
	t.addPiece(target, id, plain.Text(text))
}

// addPiece adds a delta, which depends only on the run up to here.
func (t *runEncoder) addPiece(target, id, text string) {
	t.addUnnumbered(forDeltas, delta{Type: "delta", Target: target, ID: id, Content: text})
	t.out[len(t.out)-1].shared = true
}

// retractText retracts a text whose deltas were sent: it comes again under another id.
func (t *runEncoder) retractText(target, id string) {
	key := blockKey(target, id)
	if !t.deltas[key] {
		return
	}
	t.addUnnumbered(forDeltas, block{target, "", t.ms()})
	t.markPart(key, true)
	t.out[len(t.out)-1].id = id
}

// blockKey returns the key of a text or a tool call.
func blockKey(kind, id string) string { return kind + " " + id }

// message encodes a text of the answer or of a sub-agent. One without text only called tools.
func (t *runEncoder) message(b event.MessageEnded) {
	switch {
	case b.Text == "":
		t.retractText(messageTarget(t.at.Value.Agent), b.ID)
	case t.at.Value.Agent != "":
		t.addBlock(t.at.Value.Agent, "reasoning", t.endBlock("text", b.ID, b.Text))
	default:
		t.flushHeldBlock()
		held := t.endBlock("text", b.ID, b.Text)
		t.heldBlock = &held
	}
}

// noteBlockStart records when a block began. Its start is kept longer than its deltas.
func (t *runEncoder) noteBlockStart(kind, id string) {
	if key := blockKey(kind, id); t.spoke[key] == 0 {
		t.spoke[key] = t.ms()
	}
}

// endBlock returns a complete block.
func (t *runEncoder) endBlock(kind, id, text string) answerBlock {
	return answerBlock{id, plain.Text(text), t.ms(), t.spoke[blockKey(kind, id)]}
}

// addBlock adds a complete block with its times.
func (t *runEncoder) addBlock(agent, kind string, s answerBlock) {
	before := len(t.out)
	t.addNumberedFor(agent, block{kind, s.text, s.ms}, s.id)
	t.out[before].time, t.out[before].started = s.ms, s.started
	t.out[before].block, t.out[before].closes = blockKey(kind, s.id), true
}

// flushHeldBlock adds the held block, which is not the last.
func (t *runEncoder) flushHeldBlock() {
	if h := t.heldBlock; h != nil {
		t.heldBlock = nil
		t.addBlock("", "text", *h)
	}
}

// encodeState encodes changes of the session and its runs.
func (t *runEncoder) encodeState() {
	switch b := t.at.Value.Body.(type) {
	case event.RunStarted:
		t.setStatus(statusRunning, "")
		t.markPart(blockRun, false)
	case event.RunEnded:
		t.endRun(b)
	case event.SessionError:
		t.addUnnumbered(forDeltas, failure{"error", b.Kind, plain.Text(b.Text), plain.Text(b.Hint)})
	case event.ModelChanged:
		t.addLatest("model", sessionChange{Type: "model", Model: b.Model})
	case event.TitleChanged:
		t.addLatest("title", sessionChange{Type: "title", Title: plain.Text(b.Title)})
	case event.PolicyChanged:
		t.addLatest("permissions", permissions{"permissions", b.Rules, b.Remembered})
	case event.QueueChanged:
		t.addLatest("queue", queue{"queue", queued(b.Waiting)})
	case event.UsageChanged:
		t.usage(b)
	case event.ModelCalled:
		t.addUnnumbered(forDeltas, tokenUsage{"usage", b.Model, b.Input, b.Output, b.Cached})
		t.markPart(blockUsage, false)
	case event.ServerChanged:
		t.addLatest("server "+b.Server.Name, server{"server", plain.Text(b.Server.Name), b.Server.State, plain.Text(b.Server.Error)})
	case event.Notice:
		t.notice(b)
	}
}

func (t *runEncoder) filesRestored(b event.FilesRestored) {
	names := func(paths []string) []string {
		return wire.List(paths, plain.Text)
	}
	t.addUnnumbered(forDeltas, filesRestored{"files_restored", b.ID, b.Kind, b.Target, b.Undoes, names(b.Paths), b.Files, names(b.Left), b.By})
}

func queued(of []event.Waiting) []waiting {
	return wire.List(of, func(w event.Waiting) waiting { return waiting{w.Run, plain.Text(w.Text), w.By} })
}

func (t *runEncoder) usage(b event.UsageChanged) {
	if b.Limit > 0 {
		left := int(min(max(100-100*b.Used/b.Limit, 0), 100))
		t.out = append(t.out, message{method: notifyContext, run: t.run, percent: left, latest: "context"})
	}
	t.addLatest("usage", windowUsage{"usage", b.Used, b.Limit, b.Multiplier})
}

func (t *runEncoder) notice(b event.Notice) {
	if b.Kind == copilot.NoticeQueued {
		t.setStatus(statusRunning, "waiting until other runs have ended")
		return
	}
	var raw any
	if b.Raw != nil {
		raw = b.Raw
	}
	t.addUnnumbered(forDeltas, notice{"notice", b.Kind, raw})
}

// endRun encodes the end of a run: exactly one terminal status, and nothing of the run after it.
func (t *runEncoder) endRun(b event.RunEnded) {
	t.closeSteps()
	if b.Outcome == event.Completed {
		last := t.heldBlock
		if last == nil {
			last = &answerBlock{}
		}
		before := len(t.out)
		t.addNumbered(content{"final", last.text}, last.id)
		t.out[before].time, t.out[before].started = last.ms, last.started
		t.out[before].block, t.out[before].closes = blockKey("text", last.id), true
	} else {
		t.flushHeldBlock()
	}
	status, text := terminal(b)
	t.setStatus(status, text)
	t.reset()
}

// endUnknownRun ends a run whose end is no longer kept.
func (t *runEncoder) endUnknownRun() {
	t.setStatus(statusError, "what happened in this run is not kept any more, as this UI was too far behind")
	t.reset()
}

// terminal returns the terminal status of a run, and the reason.
func terminal(b event.RunEnded) (status, text string) {
	switch b.Outcome {
	case event.Completed:
		return statusCompleted, b.Text
	case event.Cancelled:
		return statusCancelled, b.Text
	case event.Interrupted:
		return statusError, "the portal ended in the middle of this run; what was said until then is known to the agent"
	case event.Failed:
	}
	return statusError, b.Text
}

// isAsking reports whether a question waits for a person.
func (t *runEncoder) isAsking() bool {
	return slices.ContainsFunc(t.open, func(q event.Question) bool { return q.Kind != event.AskTool })
}
