package fake

import (
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// scriptQuestion is a question of a script.
type scriptQuestion struct {
	question event.Question
	answer   chan event.Answer // buffered
	over     chan struct{}     // closed when no answer will come
}

func newScriptQuestion(q event.Question) *scriptQuestion {
	return &scriptQuestion{question: q, answer: make(chan event.Answer, 1), over: make(chan struct{})}
}

// waitForEnd returns when the script has ended, or when its process has died and it waits for an answer that
// may come in a later one.
func (t *Turn) waitForEnd(c *conversation) {
	select {
	case <-t.over:
	case <-c.process.died:
		if len(c.keepPending(event.Question.SurvivesRestart)) == 0 {
			<-t.over
		}
	}
}

// keepPending silently ends the questions for which which is false, and returns the others.
func (c *conversation) keepPending(which func(event.Question) bool) map[string]*scriptQuestion {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, i := range c.questions {
		if !which(i.question) {
			delete(c.questions, id)
			close(i.over)
		}
	}
	return maps.Clone(c.questions)
}

// resume continues the prompts of a dead process that wait for pending questions, and ends the others.
func (c *conversation) resume() {
	known := map[string]*scriptQuestion{}
	var turn *Turn
	for _, t := range c.process.agents.orphanedTurns(c.opening.Session) {
		if left := t.handOverQuestions(c.opening.Pending); len(left) > 0 {
			turn, known = t, left
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.opening.Pending {
		if known[q.ID] == nil {
			c.emitLocked("", event.QuestionClosed{ID: q.ID, Ending: event.Withdrawn})
		}
	}
	switch {
	case turn != nil:
		c.adopt(turn, known)
	case len(c.opening.Pending) > 0:
		c.emitLocked("", event.Idle{Aborted: true})
	}
}

// handOverQuestions returns the pending questions of a dead process, and ends the others.
func (t *Turn) handOverQuestions(pending []event.Question) map[string]*scriptQuestion {
	return t.at().keepPending(func(asked event.Question) bool {
		return asked.SurvivesRestart() && slices.ContainsFunc(pending, func(q event.Question) bool { return q.ID == asked.ID })
	})
}

// adopt moves a turn to this conversation. The caller must hold the lock.
func (c *conversation) adopt(t *Turn, questions map[string]*scriptQuestion) {
	t.conversation.Store(c)
	c.turn, c.questions = t, questions
	t.steers = nil // only the process knew them
	c.process.start(func() { t.waitForEnd(c) })
}

// orphanedTurns returns the turns of a session whose process has died.
func (a *Agents) orphanedTurns(session string) []*Turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.turns), func(t *Turn) bool {
		return t.Opening.Session != session || !t.at().process.isDead()
	})
}

// endOrphanedQuestions ends the questions of dead processes, in a session or, if that is "", in all sessions.
func (a *Agents) endOrphanedQuestions(session string) {
	a.mu.Lock()
	turns := slices.Clone(a.turns)
	a.mu.Unlock()
	for _, t := range turns {
		if c := t.at(); c.process.isDead() && (session == "" || session == t.Opening.Session) {
			t.handOverQuestions(nil)
		}
	}
}

func (a *Agents) hold(t *Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns = append(a.turns, t)
}

func (a *Agents) release(t *Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turns = slices.DeleteFunc(a.turns, func(other *Turn) bool { return other == t })
}
