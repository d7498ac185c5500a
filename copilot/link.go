package copilot

import "context"

// attach gives the session's conversation, opening it where there is none or
// its process has died.
func (s *Session) attach(ctx context.Context, resume bool) (*link, error) {
	if isClosed(s.lost()) {
		s.fail(s.detachLost())
	}
	s.mu.Lock()
	l, model := s.link, s.model
	s.mu.Unlock()
	if l != nil {
		return l, nil
	}
	lease, err := s.host.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	l = &link{lease: lease}
	s.mu.Lock()
	s.link = l // before opening: the first events come while it opens
	s.mu.Unlock()
	o := Opening{Session: s.id, Model: model, Directory: s.directory, Resume: resume, AskUser: s.askUser}
	c, err := lease.Agent.Open(ctx, o, func(agent string, b Body) { s.sink(l, agent, b) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.link = nil
		lease.Release()
		return nil, err
	}
	l.conversation = c
	return l, nil
}

// lost is closed when the process under the conversation has ended; nil, which
// blocks, while there is none.
func (s *Session) lost() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return nil
	}
	return s.link.lease.Agent.Done()
}

// detachLost lets go of a conversation whose process has ended and says so.
func (s *Session) detachLost() error {
	s.detach()
	return Errorf(Unavailable, "the agent's process ended unexpectedly; the next prompt starts it again and goes on with what was said")
}

// detach lets the conversation go. The agent keeps it saved.
func (s *Session) detach() {
	s.mu.Lock()
	l := s.link
	s.link = nil // from here on its events are ignored
	s.mu.Unlock()
	if l == nil {
		return
	}
	s.replies.Wait()
	if l.conversation != nil && !isClosed(l.lease.Agent.Done()) {
		ctx, cancel := context.WithTimeout(context.Background(), detachTimeout)
		defer cancel()
		_ = l.conversation.Close(ctx) // nothing to be done about it: the lease goes anyway
	}
	l.lease.Release()
}

// sink takes an event of the agent. It runs on the driver's goroutine, which
// serves all sessions of the process: it never waits.
func (s *Session) sink(from *link, agent string, b Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != from {
		return
	}
	switch b := b.(type) {
	case Idle:
		s.idle(b)
	case SessionFailed:
		s.failLocked(agent, b)
	case QuestionAsked:
		s.ask(agent, b.Question)
	case QuestionAnswered:
		if _, open := s.questions[b.ID]; open { // else it is the echo of our own answer
			s.closeQuestion(b.ID, b)
		}
	case ModelChanged:
		s.setModel(b.Model)
	case TitleChanged:
		s.title = b.Title
		s.append(agent, b)
	case UsageChanged:
		s.usage = b
		s.append(agent, b)
	default:
		s.append(agent, b)
	}
}

// idle ends the run.
func (s *Session) idle(i Idle) {
	switch {
	case s.run == nil:
	case i.Aborted || s.run.cancelled || s.closed:
		s.endLocked(s.run, Cancelled)
	case s.run.failure != "":
		s.endLocked(s.run, Failed)
	default:
		s.endLocked(s.run, Completed)
	}
}

func (s *Session) setModel(model string) {
	if model == "" || model == s.model {
		return
	}
	s.model = model
	s.append("", ModelChanged{Model: model})
}
