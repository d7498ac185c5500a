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
	open      follow.Questions
	denied    map[string]string  // by call: why its permission was refused
	started   map[blockKey]int64 // when each block began, in ms
	deltas    map[blockKey]bool  // the blocks of which deltas were sent
	out       []message          // the messages of the entry
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
	return &runEncoder{denied: map[string]string{}, started: map[blockKey]int64{}, deltas: map[blockKey]bool{}}
}

// encode returns the messages of an entry, which are valid until the next call; none if this dialect ignores it.
func (enc *runEncoder) encode(e follow.Entry) []message {
	enc.out, enc.at = enc.out[:0], e
	if run := e.Value.Run; run != "" && run != enc.run {
		if enc.status != "" { // its end is no longer kept
			enc.endUnknownRun()
		}
		enc.beginRun(run)
		if !isBegin(e) { // its beginning is no longer kept
			enc.setStatus(statusRunning, "")
		}
	}
	if !enc.encodeText() && !enc.encodeAction() && !enc.encodeQuestion() {
		enc.encodeState()
	}
	for i := range enc.out {
		enc.out[i].time, enc.out[i].entry = cmp.Or(enc.out[i].time, enc.ms()), e.N
	}
	return enc.out
}

// reset forgets the run.
func (enc *runEncoder) reset() {
	at, out := enc.at, enc.out
	*enc = *newRunEncoder()
	enc.at, enc.out = at, out
}

// beginRun begins with a run.
func (enc *runEncoder) beginRun(run string) {
	enc.reset()
	enc.run, enc.begun, enc.since = run, enc.at.N, enc.ms()
}

// addNumbered adds an event with a number of its own.
func (enc *runEncoder) addNumbered(e agentEvent, id string) {
	enc.addNumberedFor(enc.at.Value.Agent, e, id)
}

// addNumberedFor is addNumbered for another agent than that of the entry. Between runs there are
// no numbers: what the agent does by itself has none.
func (enc *runEncoder) addNumberedFor(agent string, e agentEvent, id string) {
	if enc.run == "" {
		enc.out = append(enc.out, message{method: notifyEvent, to: forDeltas, seq: -1, event: e, id: id, agent: agent})
		return
	}
	enc.out = append(enc.out, message{method: notifyEvent, run: enc.run, seq: enc.seq, event: e, id: id, agent: agent})
	enc.seq++
}

// addUnnumbered adds an event without a number, for some UIs.
func (enc *runEncoder) addUnnumbered(to audience, e agentEvent) {
	enc.out = append(enc.out, message{method: notifyEvent, to: to, run: enc.run, seq: enc.seq - 1, event: e, agent: enc.at.Value.Agent})
}

// addLatest is addUnnumbered for events of which only the newest of a kind counts.
func (enc *runEncoder) addLatest(kind string, e agentEvent) {
	enc.addUnnumbered(forDeltas, e)
	enc.out[len(enc.out)-1].latest = kind
}

// setStatus sets the status of the run.
func (enc *runEncoder) setStatus(status, text string) {
	if enc.run == "" {
		return
	}
	enc.status = status
	enc.out = append(enc.out, message{method: notifyStatus, run: enc.run, status: status, text: plain.Text(text)})
}

func (enc *runEncoder) ms() int64 { return enc.at.Value.Time.UnixMilli() }

// encodeText encodes what the user and the model say.
func (enc *runEncoder) encodeText() bool {
	switch b := enc.at.Value.Body.(type) {
	case event.UserMessage:
		enc.prompt(b.Prompt)
	case event.ReasoningStarted:
		enc.noteBlockStart("reasoning", b.ID)
		enc.noteTextStart("reasoning", b.ID)
	case event.MessageStarted:
		enc.noteBlockStart("text", b.ID)
		enc.noteTextStart(messageTarget(enc.at.Value.Agent), b.ID)
	case event.ReasoningDelta:
		enc.noteBlockStart("reasoning", b.ID)
		enc.addDelta("reasoning", b.ID, b.Text)
	case event.ReasoningEnded:
		if b.Text == "" {
			enc.retractText("reasoning", b.ID)
			break
		}
		enc.addBlock(enc.at.Value.Agent, "reasoning", enc.endBlock("reasoning", b.ID, b.Text))
	case event.MessageDelta:
		enc.noteBlockStart("text", b.ID)
		enc.addDelta(messageTarget(enc.at.Value.Agent), b.ID, b.Text)
	case event.MessageEnded:
		enc.message(b)
	case event.SessionOpened, event.SessionClosed, event.TurnStarted, event.TurnEnded: // ignored
	default:
		return false
	}
	return true
}

// prompt encodes a prompt. Its id is its number in the run.
func (enc *runEncoder) prompt(p event.Prompt) {
	steers := enc.asks > 0
	enc.asks++
	enc.addUnnumbered(forOthers, promptEvent{"hidden_user_message", plain.Text(p.Text), steers, attachments(p.Attachments)})
	enc.out[len(enc.out)-1].id = strconv.Itoa(enc.asks)
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
func (enc *runEncoder) noteTextStart(target, id string) {
	enc.addUnnumbered(forDeltas, delta{Type: "delta", Target: target, ID: id})
	enc.markPart(blockKey{target, id}, false)
	enc.out[len(enc.out)-1].begins = true
}

func (enc *runEncoder) addDelta(target, id, text string) {
	enc.deltas[blockKey{target, id}] = true
	enc.addPiece(target, id, plain.Text(text))
}

// addPiece adds a delta, which depends only on the run up to here.
func (enc *runEncoder) addPiece(target, id, text string) {
	enc.addUnnumbered(forDeltas, delta{Type: "delta", Target: target, ID: id, Content: text})
	enc.out[len(enc.out)-1].shared = true
}

// retractText retracts a text whose deltas were sent: it comes again under another id.
func (enc *runEncoder) retractText(target, id string) {
	key := blockKey{target, id}
	if !enc.deltas[key] {
		return
	}
	enc.addUnnumbered(forDeltas, block{target, "", enc.ms()})
	enc.markPart(key, true)
	enc.out[len(enc.out)-1].id = id
}

// blockKey identifies a text, a tool call, or another part of a run.
type blockKey struct{ kind, id string }

// runBlock identifies a block of several runs.
type runBlock struct {
	run string
	blockKey
}

// message encodes a text of the answer or of a sub-agent. One without text only called tools.
func (enc *runEncoder) message(b event.MessageEnded) {
	switch {
	case b.Text == "":
		enc.retractText(messageTarget(enc.at.Value.Agent), b.ID)
	case enc.at.Value.Agent != "":
		enc.addBlock(enc.at.Value.Agent, "reasoning", enc.endBlock("text", b.ID, b.Text))
	default:
		enc.flushHeldBlock()
		held := enc.endBlock("text", b.ID, b.Text)
		enc.heldBlock = &held
	}
}

// noteBlockStart records when a block began. Its start is kept longer than its deltas.
func (enc *runEncoder) noteBlockStart(kind, id string) {
	key := blockKey{kind, id}
	if enc.started[key] == 0 {
		enc.started[key] = enc.ms()
	}
}

// endBlock returns a complete block.
func (enc *runEncoder) endBlock(kind, id, text string) answerBlock {
	return answerBlock{id, plain.Text(text), enc.ms(), enc.started[blockKey{kind, id}]}
}

// addBlock adds a complete block with its times.
func (enc *runEncoder) addBlock(agent, kind string, s answerBlock) {
	before := len(enc.out)
	enc.addNumberedFor(agent, block{kind, s.text, s.ms}, s.id)
	enc.out[before].time, enc.out[before].started = s.ms, s.started
	enc.out[before].block, enc.out[before].closes = blockKey{kind, s.id}, true
}

// flushHeldBlock adds the held block, which is not the last.
func (enc *runEncoder) flushHeldBlock() {
	if h := enc.heldBlock; h != nil {
		enc.heldBlock = nil
		enc.addBlock("", "text", *h)
	}
}

// encodeState encodes changes of the session and its runs.
func (enc *runEncoder) encodeState() {
	switch b := enc.at.Value.Body.(type) {
	case event.RunStarted:
		enc.setStatus(statusRunning, "")
		enc.markPart(blockKey{kind: blockRun}, false)
	case event.RunEnded:
		enc.endRun(b)
	case event.SessionError:
		enc.addUnnumbered(forDeltas, failure{"error", b.Kind, plain.Text(b.Text), plain.Text(b.Hint)})
	case event.ModelChanged:
		enc.addLatest("model", sessionChange{Type: "model", Model: b.Model})
	case event.TitleChanged:
		enc.addLatest("title", sessionChange{Type: "title", Title: plain.Text(b.Title)})
	case event.PolicyChanged:
		enc.addLatest("permissions", permissions{"permissions", b.Rules, b.Remembered})
	case event.QueueChanged:
		enc.addLatest("queue", queue{"queue", queued(b.Waiting)})
	case event.UsageChanged:
		enc.usage(b)
	case event.ModelCalled:
		enc.addUnnumbered(forDeltas, tokenUsage{"usage", b.Model, b.Input, b.Output, b.Cached})
		enc.markPart(blockKey{kind: blockUsage}, false)
	case event.ServerChanged:
		enc.addLatest("server "+b.Server.Name, server{"server", plain.Text(b.Server.Name), b.Server.State, plain.Text(b.Server.Error)})
	case event.Notice:
		enc.notice(b)
	}
}

func (enc *runEncoder) filesRestored(b event.FilesRestored) {
	names := func(paths []string) []string {
		return wire.List(paths, plain.Text)
	}
	enc.addUnnumbered(forDeltas, filesRestored{"files_restored", b.ID, b.Kind, b.Target, b.Undoes, names(b.Paths), b.Files, names(b.Left), b.By})
}

func queued(of []event.Waiting) []waiting {
	return wire.List(of, func(w event.Waiting) waiting { return waiting{w.Run, plain.Text(w.Text), w.By} })
}

func (enc *runEncoder) usage(b event.UsageChanged) {
	if b.Limit > 0 {
		left := int(min(max(100-100*b.Used/b.Limit, 0), 100))
		enc.out = append(enc.out, message{method: notifyContext, run: enc.run, percent: left, latest: "context"})
	}
	enc.addLatest("usage", windowUsage{"usage", b.Used, b.Limit, b.Multiplier})
}

func (enc *runEncoder) notice(b event.Notice) {
	if b.Kind == copilot.NoticeQueued {
		enc.setStatus(statusRunning, "waiting until other runs have ended")
		return
	}
	var raw any
	if b.Raw != nil {
		raw = b.Raw
	}
	enc.addUnnumbered(forDeltas, notice{"notice", b.Kind, raw})
}

// endRun encodes the end of a run: exactly one terminal status, and nothing of the run after it.
func (enc *runEncoder) endRun(b event.RunEnded) {
	enc.closeSteps()
	if b.Outcome == event.Completed {
		last := enc.heldBlock
		if last == nil {
			last = &answerBlock{}
		}
		before := len(enc.out)
		enc.addNumbered(content{"final", last.text}, last.id)
		enc.out[before].time, enc.out[before].started = last.ms, last.started
		enc.out[before].block, enc.out[before].closes = blockKey{"text", last.id}, true
	} else {
		enc.flushHeldBlock()
	}
	status, text := terminal(b)
	enc.setStatus(status, text)
	enc.reset()
}

// endUnknownRun ends a run whose end is no longer kept.
func (enc *runEncoder) endUnknownRun() {
	enc.setStatus(statusError, "what happened in this run is not kept any more, as this UI was too far behind")
	enc.reset()
}

// terminal returns the terminal status of a run, and the reason.
func terminal(b event.RunEnded) (status, text string) {
	switch b.Outcome {
	case event.Completed:
		return statusCompleted, b.Text
	case event.Cancelled:
		return statusCancelled, b.Text
	case event.Interrupted:
		return statusError, "The portal stopped during this run. The agent knows what was said until then."
	case event.Failed:
	}
	return statusError, b.Text
}

// isAsking reports whether a question waits for a person.
func (enc *runEncoder) isAsking() bool {
	return slices.ContainsFunc(enc.open, func(q event.Question) bool { return q.Kind != event.AskTool })
}
