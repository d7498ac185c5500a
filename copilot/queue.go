package copilot

import (
	"context"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/copilot/session"
)

// Waiting lists the queued prompts in the order of their runs, except those that are cancelled or sent into the current run. Texts are
// shortened.
func (s *Session) Waiting() []event.Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting()
}

// waiting is Waiting for callers that hold the lock.
func (s *Session) waiting() []event.Waiting { return s.listQueue((*session.Run).Excerpt) }

// Queue is [Session.Waiting] with whole texts, masked like those in the record.
func (s *Session) Queue() []event.Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listQueue(func(r *session.Run) string { return secret.Mask(r.Prompt.Text) })
}

// listQueue lists the queued prompts. The caller must hold the lock.
func (s *Session) listQueue(text func(*session.Run) string) []event.Waiting {
	list := []event.Waiting{}
	queue := s.machine.Queue()
	if s.machine.State().AtRest() {
		queue = s.queueAtRest()
	}
	for _, r := range queue {
		if r.Waits() {
			list = append(list, event.Waiting{Run: r.ID, Text: text(r), By: r.Prompt.By})
		}
	}
	return list
}

// queueAtRest returns the prompts that wait in the process that holds the session, or that its last one has left. The caller must hold the
// lock.
func (s *Session) queueAtRest() []*session.Run {
	if s.stored.decodedQueue == nil && len(s.stored.queue) > 0 {
		s.stored.decodedQueue = s.decodeQueue(s.stored.queue)
	}
	return s.stored.decodedQueue
}

// EditQueued replaces the text of a queued prompt; its attachments and its mode stay. [event.QueueChanged] reports the change. Errors:
// [fault.ErrRunNotFound] if the prompt is no longer queued, [fault.ErrEmptyPrompt], [fault.ErrSessionClosed], and those of
// [Session.Prompt] for a stored session.
func (s *Session) EditQueued(run, text string) error {
	return s.host.commands.editQueued.effect(context.Background(), s, queueChange{run, text})
}

func (s *Session) editQueuedHere(c queueChange) error {
	return s.changeQueue(func(m *session.Machine) error { return m.Edit(c.Run, c.Change) })
}

// MoveQueued moves a queued prompt before another one, or to the end if before is "". [event.QueueChanged] reports the new order. Errors:
// those of [Session.EditQueued], also if the other one is no longer queued.
func (s *Session) MoveQueued(run, before string) error {
	return s.host.commands.moveQueued.effect(context.Background(), s, queueChange{run, before})
}

func (s *Session) moveQueuedHere(c queueChange) error {
	return s.changeQueue(func(m *session.Machine) error { return m.Move(c.Run, c.Change) })
}

// SendQueued sends a queued prompt into the current run at once, as one that steers, and returns the id of the current run. The
// prompt's own run ends in its turn, completed and without the agent. If the current run ends before the agent reads the
// prompt, its own run works on it next. Errors: those of [Session.EditQueued], kind [fault.Invalid] for a prompt or an agent that cannot
// steer, kind [fault.Busy] if the current run accepts none.
func (s *Session) SendQueued(run string) (current string, err error) {
	return s.host.commands.sendQueued.run(context.Background(), s, run)
}

func (s *Session) sendQueuedHere(_ context.Context, run string) (current string, err error) {
	if err := s.requireCapability(agent.Steering); err != nil {
		return "", err
	}
	err = s.changeQueue(func(m *session.Machine) (err error) {
		current, err = m.SendNow(run)
		return err
	})
	return current, err
}

func (s *Session) changeQueue(in func(*session.Machine) error) error {
	if err := s.lockActive(); err != nil {
		return err
	}
	defer s.mu.Unlock()
	err := in(&s.machine)
	s.perform()
	return err
}
