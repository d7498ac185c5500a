package session_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/session"
)

// world is a session with its environment: clients, an agent, the owner that performs effects, a store.
type world struct {
	rng        *rand.Rand
	machine    session.Machine
	check      *checker
	going      *session.Begin // the current step
	deliveries []session.Deliver
	replies    []session.Reply
	attached   bool // there is a conversation
	alive      bool // its process runs
	working    bool // it works on a prompt
	continues  bool // open questions survive its process
	ids        int
	log        []any // names of inputs, and effects
}

var errAgent = errors.New("the agent fails")

func newWorld(rng *rand.Rand) *world {
	w := &world{rng: rng, check: newChecker(), continues: rng.IntN(4) > 0}
	w.check.inFlight = func(text string) bool {
		return slices.ContainsFunc(w.deliveries, func(d session.Deliver) bool { return d.Prompt.Text == text })
	}
	w.machine = session.NewMachine(w.newID)
	w.do("activate", func(m *session.Machine) { m.Activate() })
	return w
}

func (w *world) newID() string {
	w.ids++
	return fmt.Sprintf("%d", w.ids)
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// do gives the machine an input, performs its effects and checks the rules.
func (w *world) do(what string, in func(*session.Machine)) {
	w.log = append(w.log, what)
	in(&w.machine)
	for _, e := range w.machine.Effects() {
		w.log = append(w.log, e)
		w.perform(e)
	}
	w.check.machine(&w.machine, w.going)
	w.check.queue(&w.machine)
}

func (w *world) perform(e session.Effect) {
	switch e := e.(type) {
	case session.Record:
		w.check.record(e)
	case session.Begin:
		if w.going != nil {
			panic("two steps at the same time")
		}
		w.going = &e
		w.check.begin(e)
	case session.Deliver:
		w.deliveries = append(w.deliveries, e)
	case session.Reply:
		if !w.attached {
			panic("a reply without a conversation")
		}
		w.replies = append(w.replies, e)
	case session.WatchQuestion:
		w.check.watch(e.Question.ID)
	case session.UnwatchQuestion:
		w.check.unwatch(e.ID)
	case session.Slot:
		w.check.slots--
		if e.Held {
			w.check.slots += 2
		}
	case session.Changed:
		if e.Queue {
			w.check.shown = visible(&w.machine)
		}
	}
}

// trace returns the last n lines of the log.
func (w *world) trace(n int) string {
	var lines strings.Builder
	for _, l := range w.log[max(0, len(w.log)-n):] {
		if _, input := l.(string); input {
			fmt.Fprintln(&lines, l)
		} else {
			fmt.Fprintf(&lines, "    %T%+v\n", l, l)
		}
	}
	return lines.String()
}

// step makes one thing happen.
func (w *world) step() {
	if w.machine.State().AtRest() {
		w.wake()
		return
	}
	if w.chance(1) && w.chance(30) {
		w.kill()
		return
	}
	some := []func(){w.client, w.agent, w.calls}
	if w.going != nil {
		some = append(some, w.finishStep, w.finishStep)
	}
	some[w.rng.IntN(len(some))]()
}

// client simulates clients, timers and the portal's end.
func (w *world) client() {
	switch n := w.rng.IntN(100); {
	case n < 35:
		w.prompt()
	case n < 50:
		w.answer()
	case n < 60:
		w.cancel()
	case n < 62:
		w.do("close", func(m *session.Machine) {
			if m.State() == session.Active { // otherwise it closes or stops already
				w.check.dropWaiting(m)
			}
			m.Close()
		})
	case n < 64, n < 80 && w.machine.Asks():
		w.do("stop", func(m *session.Machine) { m.Stop(w.continues) })
	case n < 65:
		w.do("lose", func(m *session.Machine) { w.check.dropWaiting(m); m.Lose() })
	case n < 68:
		w.do("end silent", func(m *session.Machine) { m.EndSilent(m.RunID(), event.Notice{}) })
	case n < 70 && w.going == nil:
		w.suspend()
	case n < 80:
		w.changeQueue()
	}
}

func (w *world) prompt() {
	p := event.Prompt{Text: "prompt " + w.newID(), Steer: w.chance(40), RefuseIfBusy: w.chance(10)}
	p.Compact = !p.Steer && w.chance(15)
	if p.Compact && w.chance(50) {
		p.Text = ""
	}
	if w.chance(5) {
		p.Tools = &[]event.Tool{}
	}
	w.do(p.Text, func(m *session.Machine) {
		current := m.RunID()
		run, err := m.Prompt(p)
		switch {
		case err != nil:
		case run == current:
			w.check.steered(p.Text)
		default:
			w.check.accepted(run)
			w.check.texts[run] = p.Text
		}
	})
}

func (w *world) answer() {
	open := w.machine.OpenQuestions()
	if len(open) == 0 {
		return
	}
	id := open[w.rng.IntN(len(open))]
	r := w.machine.Run()
	awaited := r != nil && r.Phase() == session.AwaitingAnswer
	w.do("answer "+id, func(m *session.Machine) {
		m.Answer(event.QuestionClosed{ID: id, Ending: event.Answered}, event.Answer{Approved: true})
	})
	if awaited && w.going == nil {
		panic("the answer that the run waits for does not start the agent")
	}
}

func (w *world) cancel() {
	id := ""
	if queue := w.machine.Queue(); len(queue) > 0 && w.chance(50) {
		id = queue[w.rng.IntN(len(queue))].ID
	}
	w.do("cancel "+id, func(m *session.Machine) { _ = m.Cancel(id) })
}

func (w *world) suspend() {
	began := false
	w.do("suspend", func(m *session.Machine) { began = m.Suspend() })
	if began {
		w.release()
		w.do("suspended", func(m *session.Machine) { m.Suspended() })
	}
}

// agent simulates what the agent says on its own, if it runs.
func (w *world) agent() {
	if !w.attached {
		return
	}
	if !w.alive || w.chance(1) {
		w.alive = false
		w.do("exited", func(m *session.Machine) { m.Exited(event.SessionError{Kind: fault.Unavailable, Text: "exited"}) })
		return
	}
	w.agentSays()
}

func (w *world) agentSays() {
	switch n := w.rng.IntN(100); {
	case n < 30:
		w.do("worked", func(m *session.Machine) { m.Worked() })
	case n < 55:
		w.working = false
		w.do("idle", func(m *session.Machine) { m.Idle(event.Idle{Aborted: w.chance(10)}) })
	case n < 60:
		w.do("fails", func(m *session.Machine) { m.Fail("", event.SessionError{Text: "a failure"}) })
	case n < 90:
		kinds := []event.QuestionKind{event.AskPermission, event.AskInput, event.AskTool}
		q := event.Question{ID: w.newID(), Kind: kinds[w.rng.IntN(len(kinds))]}
		w.do("ask "+q.ID, func(m *session.Machine) { m.Ask("", q) })
	default:
		if open := w.machine.OpenQuestions(); len(open) > 0 {
			w.do("resolves "+open[0], func(m *session.Machine) { m.CloseQuestion(event.QuestionClosed{ID: open[0], Ending: event.Expired}) })
		}
	}
}

// calls ends a pending call to the agent.
func (w *world) calls() {
	if len(w.deliveries) > 0 {
		w.endDelivery()
	}
	if len(w.replies) > 0 {
		w.endReply()
	}
}

func (w *world) endDelivery() {
	d := w.deliveries[0]
	w.deliveries = w.deliveries[1:]
	var err error
	switch {
	case !w.attached || !w.alive || w.chance(10):
		err = errAgent
		w.check.mayBeLost(d.Prompt.Text)
	case !w.working && w.chance(70):
		err = fault.ErrIdle
	}
	if d.Run.Phase() == session.Ended && err != nil { // it waits behind the others
		w.check.mayBeLost(d.Prompt.Text)
	}
	w.do("delivered", func(m *session.Machine) { m.Delivered(d, err, w.alive) })
}

func (w *world) endReply() {
	w.replies = w.replies[1:]
	if w.alive && w.chance(5) {
		conversation := w.machine.Conversation()
		w.do("reply failed", func(m *session.Machine) { m.ReplyFailed(conversation, errAgent) })
	}
}

// finishStep ends the current step in one way or another.
func (w *world) finishStep() {
	b := *w.going
	end := func(what string, in func(*session.Machine)) {
		w.do(what, func(m *session.Machine) { w.going = nil; in(m) })
	}
	var err error
	if w.chance(15) || w.machine.Interrupted() && w.chance(80) {
		err = errAgent
	}
	switch b.Step {
	case session.AcquireSlot:
		w.finishSlot(b, err == nil)
	case session.OpenConversation:
		err = w.open(err)
		end("opened", func(m *session.Machine) { m.ConversationOpened(err) })
	case session.Compact:
		var exit *event.SessionError
		if !w.alive {
			exit, err = &event.SessionError{Text: "exited"}, errAgent
		}
		end("compacted", func(m *session.Machine) { m.Compacted(err, exit) })
	case session.SendPrompt:
		if !w.alive {
			err = errAgent
		}
		w.working = err == nil
		end("sent", func(m *session.Machine) { m.Sent(err) })
	case session.AbortRun:
		ended := b.Run.Phase() == session.Ended
		end("aborted", func(m *session.Machine) { m.Aborted() })
		if ended && w.going != nil && w.going.Step == session.ReleaseConversation {
			panic("the conversation is released though the agent has ended the run")
		}
	case session.ReleaseConversation:
		w.release()
		end("released", func(m *session.Machine) { m.Released() })
	case session.Finish:
		w.finish()
	case session.NoStep:
		panic("a step that is none")
	}
}

func (w *world) finishSlot(b session.Begin, ok bool) {
	if b.Run.Phase() == session.Starting && w.chance(30) && w.machine.Run() == b.Run {
		w.do("slot busy", func(m *session.Machine) { m.SlotBusy(event.Notice{}) })
		return
	}
	if !ok && !w.machine.Interrupted() {
		return // it continues to wait
	}
	if ok {
		w.check.slots++
	}
	w.do("slot", func(m *session.Machine) { w.going = nil; m.SlotAcquired(ok) })
}

// open opens the conversation, during which the agent may already say something.
func (w *world) open(err error) error {
	if w.attached && !w.alive {
		w.release()
	}
	if w.attached || err != nil {
		return err
	}
	w.do("opening", func(m *session.Machine) { m.OpeningConversation() })
	w.attached, w.alive, w.working = true, true, w.machine.Run() != nil && w.machine.Run().Phase() == session.Opening
	w.do("attach", func(m *session.Machine) { m.Attach() })
	if w.chance(20) {
		w.agentSays()
	}
	w.do("send answers", func(m *session.Machine) { m.SendAnswers() })
	return nil
}

// release releases the conversation and ends the pending calls.
func (w *world) release() {
	w.attached, w.working = false, false
	w.do("detach", func(m *session.Machine) { m.Detach() })
	w.endCalls()
}

func (w *world) endCalls() {
	for len(w.deliveries) > 0 {
		w.endDelivery()
	}
	w.replies = nil
}

func (w *world) finish() {
	left := false
	w.do("finish", func(m *session.Machine) {
		if left = m.LeaveRunOpen(); left {
			w.going = nil
		}
	})
	if left {
		w.attached, w.working = false, false
		w.endCalls()
		return
	}
	w.release()
	w.do("finished", func(m *session.Machine) { w.going = nil; m.Finished() })
}

// wake is the next use of an inactive session: by a process that still has it in memory, or by another that reads it from
// the store.
func (w *world) wake() {
	var waiting []*session.Run
	w.do("park", func(m *session.Machine) { waiting, _ = m.Park() })
	w.check.dropCancelled(waiting)
	w.recover(w.machine.State() == session.Closed, storable(waiting))
}

// kill ends the process at any moment. The next one finds what is stored.
func (w *world) kill() {
	w.log = append(w.log, "kill")
	waiting := slices.Clone(w.machine.Queue())
	w.check.dropCancelled(waiting)
	w.check.killed()
	w.going, w.deliveries, w.replies, w.attached, w.working = nil, nil, nil, false, false
	history := w.machine.History()
	w.machine = session.NewMachine(w.newID)
	w.machine.SetHistory(history)
	w.recover(w.machine.State() == session.Closed, storable(waiting))
}

func (w *world) recover(closed bool, waiting []*session.Run) {
	w.do("stored", func(m *session.Machine) { m.SetStored(closed, false) })
	left := w.check.unfinished()
	left.Queue, left.Continues = waiting, w.continues
	w.check.giveAgain(left.Steers)
	w.check.told[left.Run] = true // if it continues, the agent knows it
	w.do("recover "+left.Run, func(m *session.Machine) { m.Recover(left); w.check.recovered(m) })
	if w.chance(20) {
		w.do("close stored", func(m *session.Machine) { w.check.dropWaiting(m); m.CloseStored() })
		return
	}
	w.do("activate", func(m *session.Machine) { m.Activate() })
}

// storable returns the queued runs that the store has.
func storable(waiting []*session.Run) []*session.Run {
	return slices.DeleteFunc(slices.Clone(waiting), func(r *session.Run) bool { return !r.NeedsStore() })
}

// settle brings everything to its end: the agent answers, steps end, clients only answer questions. A session that
// does not get there is stuck.
func (w *world) settle() {
	if w.machine.State().AtRest() {
		return
	}
	for range 100_000 {
		w.answer()
		w.calls()
		switch {
		case w.going != nil:
			w.finishStep()
		case w.machine.State().AtRest():
			return
		case w.machine.Run() == nil && w.machine.State() == session.Active:
			w.check.settled()
			return
		case w.attached && !w.alive:
			w.agent()
		default:
			w.do("idle", func(m *session.Machine) { m.Idle(event.Idle{}) })
		}
	}
	panic(fmt.Sprintf("the session is stuck in phase %d", w.machine.Run().Phase()))
}

// checker checks the rules of a session.
type checker struct {
	runs      map[string]progress
	order     []string // accepted runs that have not started
	current   string   // the unfinished run in the record
	asked     map[string]event.Question
	askedIn   map[string]string // the runs of the questions
	closed    map[string]bool
	told      map[string]bool // runs that the agent knows
	watched   map[string]bool
	slots     int // of the current run
	steers    map[string]bool
	forgotten map[string]bool // prompts that may be lost
	inFlight  func(text string) bool
	unread    []event.Prompt // that steer, of the current run: no turns are recorded
	queueChecker
}

type progress int

const (
	waits progress = iota
	began
	ended
	dropped
)

func newChecker() *checker {
	return &checker{
		runs: map[string]progress{}, asked: map[string]event.Question{}, askedIn: map[string]string{}, closed: map[string]bool{}, watched: map[string]bool{},
		steers: map[string]bool{}, forgotten: map[string]bool{}, told: map[string]bool{}, queueChecker: newQueueChecker(),
	}
}

func (c *checker) accepted(run string) {
	if c.runs[run] == waits {
		c.runs[run] = max(c.runs[run], waits)
		c.order = append(c.order, run)
	}
}

func (c *checker) steered(text string)   { c.steers[text] = false }
func (c *checker) mayBeLost(text string) { c.forgotten[text] = true }

// dropWaiting records that a client closes the session, which drops queued prompts.
func (c *checker) dropWaiting(m *session.Machine) {
	for _, r := range m.Queue() {
		c.drop(r.ID)
	}
	c.forgetSteers()
}

func (c *checker) dropCancelled(waiting []*session.Run) {
	for _, r := range waiting {
		if !r.NeedsStore() {
			c.drop(r.ID)
			c.mayBeLost(r.Prompt.Text)
		}
	}
}

func (c *checker) drop(run string) {
	c.runs[run] = dropped
	c.order = slices.DeleteFunc(c.order, func(id string) bool { return id == run })
}

// killed records that the process has ended, with its timers and slots.
func (c *checker) killed() {
	c.forgetSteers()
	c.slots = 0
	clear(c.watched)
}

// forgetSteers records that prompts that steer may be lost, because the store does not have them.
func (c *checker) forgetSteers() {
	for text := range c.steers {
		c.forgotten[text] = true
	}
}

// record checks an event when it is recorded.
func (c *checker) record(r session.Record) {
	if r.Run != c.current && !isStart(r.Body) {
		panic(fmt.Sprintf("%T of run %q during run %q", r.Body, r.Run, c.current))
	}
	switch b := r.Body.(type) {
	case event.RunStarted:
		c.start(r.Run)
	case event.RunEnded:
		c.end(r.Run, b.Outcome)
	case event.UserMessage:
		c.message(r.Run, b.Prompt)
		if seen, steers := c.steers[b.Prompt.Text]; steers && seen && b.Prompt.Text != "" {
			panic("a prompt is recorded twice: " + b.Prompt.Text)
		}
		c.steers[b.Prompt.Text] = true
		if b.Prompt.Steer {
			c.unread = append(c.unread, b.Prompt)
		}
	case event.QuestionAsked:
		if _, known := c.asked[b.Question.ID]; known {
			panic("a question is asked twice")
		}
		c.asked[b.Question.ID], c.askedIn[b.Question.ID] = b.Question, r.Run
	case event.QuestionClosed:
		if _, known := c.asked[b.ID]; !known || c.closed[b.ID] {
			panic("a question closes that is not open")
		}
		c.closed[b.ID] = true
	}
}

// giveAgain records that prompts may get runs of their own after that in which they were recorded.
func (c *checker) giveAgain(steers []event.Prompt) {
	for _, p := range steers {
		c.steers[p.Text] = false
		c.mayBeLost(p.Text)
	}
}

func isStart(b event.Body) bool {
	switch b.(type) {
	case event.RunStarted, event.SessionClosed:
		return true
	}
	return false
}

func (c *checker) start(run string) {
	if i := slices.Index(c.order, run); i >= 0 {
		for text, seen := range c.steers {
			if !seen && !c.forgotten[text] && !c.passed[text] && !c.inFlight(text) {
				panic("a run overtakes the prompt that came too late for the one before: " + text)
			}
		}
	}
	if c.current != "" || c.runs[run] != waits {
		panic(fmt.Sprintf("run %s begins during run %q, in state %d", run, c.current, c.runs[run]))
	}
	c.current, c.runs[run] = run, began
	c.left(run)
	i := slices.Index(c.order, run)
	if i > 0 {
		panic(fmt.Sprintf("run %s overtakes run %s", run, c.order[0]))
	}
	if i == 0 {
		c.order = c.order[1:]
	}
}

func (c *checker) end(run string, o event.Outcome) {
	if c.runs[run] != began {
		panic("a run ends that did not begin: " + run)
	}
	if o == event.Completed && !c.told[run] && !c.isElsewhere(run) {
		panic("a run completes of which the agent does not know: " + run)
	}
	if left := c.unfinished(); len(left.Questions)+len(left.Orphans) > 0 {
		panic("a run ends with open questions")
	}
	c.current, c.runs[run], c.unread = "", ended, nil
}

func (c *checker) watch(id string) { c.watched[id] = true }

func (c *checker) unwatch(id string) { delete(c.watched, id) }

// unfinished returns what is unfinished according to the record.
func (c *checker) unfinished() session.Unfinished {
	left := session.Unfinished{Run: c.current, Steers: c.unread}
	for _, id := range slices.Sorted(maps.Keys(c.asked)) {
		switch q := c.asked[id]; {
		case c.closed[id]:
		case c.askedIn[id] == "":
			left.Orphans = append(left.Orphans, q)
		default:
			left.Questions = append(left.Questions, q)
		}
	}
	return left
}

// begin checks a step before it starts.
func (c *checker) begin(b session.Begin) {
	if b.Step == session.AbortRun && !c.told[b.Run.ID] {
		panic("a run is aborted of which the agent does not know")
	}
	if b.Step != session.Compact && b.Step != session.SendPrompt {
		return
	}
	if b.Run.Cancelled() {
		panic("the agent hears of a run that is cancelled")
	}
	if c.isElsewhere(b.Run.ID) {
		panic("the agent gets a prompt twice: " + b.Run.Prompt.Text)
	}
	c.told[b.Run.ID] = true
}

// machine checks consistency between inputs.
func (c *checker) machine(m *session.Machine, going *session.Begin) {
	if c.slots < 0 || c.slots > 1 || c.slots == 1 && m.Run() == nil && going == nil {
		panic(fmt.Sprintf("%d slots with run %q", c.slots, m.RunID()))
	}
	if !m.State().AtRest() && m.RunID() != c.current {
		panic(fmt.Sprintf("run %q is in the record, %q in the machine", c.current, m.RunID()))
	}
	for _, id := range m.OpenQuestions() {
		if !c.watched[id] {
			panic("an open question has no timers")
		}
	}
	if len(m.OpenQuestions()) != len(c.watched) {
		panic("a closed question has timers")
	}
	if m.Run() == nil && len(m.Queue()) > 0 && !m.State().AtRest() {
		panic("prompts wait for no run")
	}
	if going == nil && m.Interrupted() && !m.State().AtRest() && m.State() != session.Suspending {
		panic("nothing stops what is to stop")
	}
	goesOn := going != nil || m.Run() == nil || m.State().AtRest() || m.State() == session.Suspending
	if r := m.Run(); !goesOn && r.Phase() != session.Working && r.Phase() != session.Finishing && r.Phase() != session.AwaitingAnswer {
		panic(fmt.Sprintf("nothing happens in phase %d", r.Phase()))
	}
}

// settled checks what must hold at the end.
func (c *checker) settled() {
	if len(c.order) > 0 {
		panic("runs that never began: " + strings.Join(c.order, ", "))
	}
	for text, seen := range c.steers {
		if !seen && !c.forgotten[text] {
			panic("a prompt was lost: " + text)
		}
	}
	for run, p := range c.runs {
		if p == began {
			panic("a run without an end: " + run)
		}
	}
}
