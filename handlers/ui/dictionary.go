package ui

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/plain"
)

// teller is the dictionary from the domain's events to messages, with what it has
// to know for that of the run that goes on. What it makes of an entry depends on
// the run up to there alone: every UI and every history have the same numbers.
type teller struct {
	run    string
	begun  uint64 // the number of the entry that began the run; 0 between runs
	since  int64  // when that was, in ms
	seq    int    // of the next event
	asks   int    // prompts of the run that were told
	status string // of the run; "" between runs
	steps  []step // all of the run
	held   *spoken
	open   []event.Question  // in the order in which they were asked
	denied map[string]string // by call: why a permission for it was refused
	spoke  map[string]int64  // by block: when it began, in ms
	pieces map[string]bool   // by block: whether some of it was told
	out    []message         // what the entry is told by
	at     journal.Entry[event.Event]
}

// The blocks of a run itself, and of what adds up in it.
const (
	blockRun   = "run"
	blockUsage = "usage"
)

// spoken is a block of the answer. It is held until it is known whether it is the
// last: the last one is told as final.
type spoken struct {
	id, text    string
	ms, started int64
}

func newTeller() *teller {
	return &teller{denied: map[string]string{}, spoke: map[string]int64{}, pieces: map[string]bool{}}
}

// tell gives the messages that stand for an entry; none for those that this
// dialect does not tell.
func (t *teller) tell(e journal.Entry[event.Event]) []message {
	t.out, t.at = nil, e
	if run := e.Value.Run; run != "" && run != t.run {
		if t.status != "" { // its end is not kept any more
			t.endUnseen()
		}
		t.enter(run)
		if !isBegin(e) { // its beginning is not kept any more
			t.turn(statusRunning, "")
		}
	}
	if !t.said() && !t.did() && !t.asked() {
		t.changed()
	}
	for i := range t.out {
		t.out[i].time, t.out[i].entry = cmp.Or(t.out[i].time, t.ms()), e.N
	}
	return t.out
}

// forget forgets what belongs to a run.
func (t *teller) forget() {
	at, out := t.at, t.out
	*t = *newTeller()
	t.at, t.out = at, out
}

// enter begins with a run.
func (t *teller) enter(run string) {
	t.forget()
	t.run, t.begun, t.since = run, t.at.N, t.ms()
}

// event tells an event that has a number of its own.
func (t *teller) event(e update, id string) { t.eventOf(t.at.Value.Agent, e, id) }

// eventOf is event of somebody else than the entry is of. Between runs there are no
// numbers: what the agent does there by itself is told as an aside.
func (t *teller) eventOf(agent string, e update, id string) {
	if t.run == "" {
		t.out = append(t.out, message{method: notifyEvent, to: forDeltas, seq: -1, event: e, id: id, agent: agent})
		return
	}
	t.out = append(t.out, message{method: notifyEvent, run: t.run, seq: t.seq, event: e, id: id, agent: agent})
	t.seq++
}

// aside tells an event that has none, to some UIs.
func (t *teller) aside(to audience, e update) {
	t.out = append(t.out, message{method: notifyEvent, to: to, run: t.run, seq: t.seq - 1, event: e, agent: t.at.Value.Agent})
}

// last is aside, and the newest of its kind stands for all.
func (t *teller) last(kind string, e update) {
	t.aside(forDeltas, e)
	t.out[len(t.out)-1].latest = kind
}

// turn tells how the run stands from now on.
func (t *teller) turn(status, text string) {
	if t.run == "" {
		return
	}
	t.status = status
	t.out = append(t.out, message{method: notifyStatus, run: t.run, status: status, text: plain.Text(text)})
}

func (t *teller) ms() int64 { return t.at.Value.Time.UnixMilli() }

// said is what the user and the model say.
func (t *teller) said() bool {
	switch b := t.at.Value.Body.(type) {
	case event.UserMessage:
		t.prompt(b.Prompt)
	case event.ReasoningStarted:
		t.speaks("reasoning", b.ID)
		t.begins("reasoning", b.ID)
	case event.MessageStarted:
		t.speaks("text", b.ID)
		t.begins(messageTarget(t.at.Value.Agent), b.ID)
	case event.ReasoningDelta:
		t.speaks("reasoning", b.ID)
		t.piece("reasoning", b.ID, b.Text)
	case event.ReasoningEnded:
		if b.Text == "" {
			t.takeBack("reasoning", b.ID)
			break
		}
		t.block(t.at.Value.Agent, "reasoning", t.spoken("reasoning", b.ID, b.Text))
	case event.MessageDelta:
		t.speaks("text", b.ID)
		t.piece(messageTarget(t.at.Value.Agent), b.ID, b.Text)
	case event.MessageEnded:
		t.message(b)
	case event.TurnStarted, event.TurnEnded:
	default:
		return false
	}
	return true
}

// prompt tells what the user wrote; who began the run with it knows it. Its id is
// its number in the run.
func (t *teller) prompt(p event.Prompt) {
	steers := t.asks > 0
	t.asks++
	t.aside(forOthers, promptEvent{"hidden_user_message", plain.Text(p.Text), steers, attachments(p.Attachments)})
	t.out[len(t.out)-1].id = strconv.Itoa(t.asks)
}

func attachments(of []event.Attachment) []attachedTo {
	list := make([]attachedTo, 0, len(of))
	for _, a := range of {
		list = append(list, attachedTo{plain.Text(cmp.Or(a.Name, filepath.Base(a.Path))), plain.Text(a.Path), a.First, a.Last, a.Type, a.Data})
	}
	return list
}

// messageTarget is as what a message is told: what a sub-agent says is no answer.
func messageTarget(agent string) string {
	if agent != "" {
		return "reasoning"
	}
	return "text"
}

// begins notes in a history where a text began.
func (t *teller) begins(target, id string) {
	t.aside(forDeltas, delta{Type: "delta", Target: target, ID: id})
	t.part(blockKey(target, id), false)
	t.out[len(t.out)-1].begins = true
}

func (t *teller) piece(target, id, text string) {
	t.pieces[blockKey(target, id)] = true
	t.aside(forDeltas, delta{Type: "delta", Target: target, ID: id, Content: plain.Text(text)})
}

// takeBack tells that a text counts no more of which pieces were told: it is said
// again under another id.
func (t *teller) takeBack(target, id string) {
	key := blockKey(target, id)
	if !t.pieces[key] {
		return
	}
	t.aside(forDeltas, block{target, "", t.ms()})
	t.part(key, true)
	t.out[len(t.out)-1].id = id
}

// blockKey names what goes on for a while in a run: a text, a tool call.
func blockKey(kind, id string) string { return kind + " " + id }

// message tells a block of the answer, or what a sub-agent says. One without a
// text only called tools.
func (t *teller) message(b event.MessageEnded) {
	switch {
	case b.Text == "":
		t.takeBack(messageTarget(t.at.Value.Agent), b.ID)
	case t.at.Value.Agent != "":
		t.block(t.at.Value.Agent, "reasoning", t.spoken("text", b.ID, b.Text))
	default:
		t.flush()
		held := t.spoken("text", b.ID, b.Text)
		t.held = &held
	}
}

// speaks notes when a block began. Its pieces are not kept for long, what began it is.
func (t *teller) speaks(kind, id string) {
	if key := kind + " " + id; t.spoke[key] == 0 {
		t.spoke[key] = t.ms()
	}
}

// spoken is a block that is complete now.
func (t *teller) spoken(kind, id, text string) spoken {
	return spoken{id, plain.Text(text), t.ms(), t.spoke[kind+" "+id]}
}

// block tells one, with its times.
func (t *teller) block(agent, kind string, s spoken) {
	before := len(t.out)
	t.eventOf(agent, block{kind, s.text, s.ms}, s.id)
	t.out[before].time, t.out[before].started = s.ms, s.started
	t.out[before].block, t.out[before].closes = blockKey(kind, s.id), true
}

// flush tells a block that was held: it is not the last.
func (t *teller) flush() {
	if h := t.held; h != nil {
		t.held = nil
		t.block("", "text", *h)
	}
}

// changed is how the session and its runs fare.
func (t *teller) changed() {
	switch b := t.at.Value.Body.(type) {
	case event.RunStarted:
		t.turn(statusRunning, "")
		t.part(blockRun, false)
	case event.RunEnded:
		t.end(b)
	case event.SessionError:
		t.aside(forDeltas, failure{"error", b.Kind, b.Text, b.Hint})
	case event.ModelChanged:
		t.last("model", changed{Type: "model", Model: b.Model})
	case event.TitleChanged:
		t.last("title", changed{Type: "title", Title: plain.Text(b.Title)})
	case event.PolicyChanged:
		t.last("permissions", permissions{"permissions", b.Rules, b.Remembered})
	case event.QueueChanged:
		t.last("queue", queue{"queue", queued(b.Waiting)})
	case event.UsageChanged:
		t.usage(b)
	case event.ModelCalled:
		t.aside(forDeltas, tokenUsage{"usage", b.Model, b.Input, b.Output, b.Cached})
		t.part(blockUsage, false)
	case event.ServerChanged:
		t.last("server "+b.Server.Name, server{"server", b.Server.Name, b.Server.State, b.Server.Error})
	case event.Notice:
		t.notice(b)
	}
}

func queued(of []event.Waiting) []waiting {
	list := make([]waiting, 0, len(of))
	for _, w := range of {
		list = append(list, waiting{w.Run, plain.Text(w.Text), w.By})
	}
	return list
}

func (t *teller) usage(b event.UsageChanged) {
	if b.Limit > 0 {
		left := int(min(max(100-100*b.Used/b.Limit, 0), 100))
		t.out = append(t.out, message{method: notifyContext, run: t.run, percent: left, latest: "context"})
	}
	t.last("usage", windowUsage{"usage", b.Used, b.Limit, b.Multiplier})
}

func (t *teller) notice(b event.Notice) {
	if b.Kind == copilot.NoticeQueued {
		t.turn(statusRunning, "waiting until other runs have ended")
		return
	}
	var raw any
	if b.Raw != nil {
		raw = b.Raw
	}
	t.aside(forDeltas, notice{"notice", b.Kind, raw})
}

// end tells the end of a run: there is exactly one terminal status, and nothing
// of the run behind it.
func (t *teller) end(b event.RunEnded) {
	t.closeSteps()
	if b.Outcome == event.Completed {
		last := t.held
		if last == nil {
			last = &spoken{}
		}
		before := len(t.out)
		t.event(content{"final", last.text}, last.id)
		t.out[before].time, t.out[before].started = last.ms, last.started
		t.out[before].block, t.out[before].closes = blockKey("text", last.id), true
	} else {
		t.flush()
	}
	status, text := terminal(b)
	t.turn(status, text)
	t.forget()
}

// endUnseen tells the end of a run of which nobody knows any more how it ended.
func (t *teller) endUnseen() {
	t.turn(statusError, "what happened in this run is not kept any more, as this UI was too far behind")
	t.forget()
}

// terminal is the status that a run ends with, and the reason.
func terminal(b event.RunEnded) (status, text string) {
	switch b.Outcome {
	case event.Completed:
		return statusCompleted, ""
	case event.Cancelled:
		return statusCancelled, b.Text
	case event.Interrupted:
		return statusError, "the portal ended in the middle of this run; what was said until then is known to the agent"
	case event.Failed:
	}
	return statusError, b.Text
}

// isAsking says whether a person is asked.
func (t *teller) isAsking() bool {
	return slices.ContainsFunc(t.open, func(q event.Question) bool { return q.Kind != event.AskTool })
}
