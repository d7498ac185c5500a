package copilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/session"
)

// How long the agent gets for things that it should do at once.
const (
	openTimeout   = 30 * time.Second
	sendTimeout   = 30 * time.Second
	modelTimeout  = 10 * time.Second
	abortTimeout  = 2 * time.Second
	callTimeout   = 20 * time.Second // for calls in the middle of a run: a busy machine must not end it
	hurryTimeout  = 2 * time.Second  // for the same once nobody needs them any more
	detachTimeout = time.Second

	compactTimeout = 5 * time.Minute // the model reads the whole conversation
)

// NoticeQueued is the kind of the [event.Notice] in a run that has to wait until
// others have ended.
const NoticeQueued = "portal.queued"

// acquireSlot gives the current run its slot.
func (s *Session) acquireSlot() {
	ctx, cancel := s.interruptible()
	defer cancel()
	slots := s.host.runSlots
	ok := ctx.Err() == nil && slots.tryAcquire()
	if !ok && ctx.Err() == nil {
		text := fmt.Sprintf("%d runs go on already; this one waits for its turn (limits.runs).", slots.limit)
		raw, _ := json.Marshal(map[string]string{"text": text}) // a string always can be
		s.input(func(m *session.Machine) { m.SlotBusy(event.Notice{Kind: NoticeQueued, Raw: raw}) })
		ok = slots.acquire(ctx)
	}
	s.input(func(m *session.Machine) { m.SlotAcquired(ok) })
}

func (s *Session) openForRun() {
	ctx, cancel := s.interruptible()
	defer cancel()
	err := s.ensureConversation(ctx)
	s.input(func(m *session.Machine) { m.ConversationOpened(err) })
}

// compact makes the agent summarize the conversation.
func (s *Session) compact() {
	ctx, cancel := s.interruptible()
	defer cancel()
	l := s.currentLink()
	err := compactConversation(ctx, l)
	var exit *event.SessionError
	if agent.IsClosed(l.lease.Agent.Done()) {
		e := l.exitError()
		exit = &e
	}
	s.input(func(m *session.Machine) { m.Compacted(err, exit) })
}

func compactConversation(ctx context.Context, l *agentLink) error {
	ctx, cancel := context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	err := l.conversation.Compact(ctx)
	if err == nil || errors.Is(err, fault.ErrNothingToCompact) {
		return err
	}
	err = because(ctx, l.lease.Agent, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Errorf(fault.Timeout, "the agent did not sum up the conversation within %v", compactTimeout)
	}
	return err
}

// send gives the agent the prompt of a run.
func (s *Session) send(r *session.Run) {
	ctx, cancel := s.interruptible()
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, sendTimeout)
	defer stop()
	err := s.currentLink().send(ctx, r.Prompt)
	s.input(func(m *session.Machine) { m.Sent(err) })
}

// abort tells the agent to stop and waits until the run has ended, for as long as that may take.
func (s *Session) abort(r *session.Run) {
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	l, ended := s.currentLink(), s.awaitEnd(r)
	if !agent.IsClosed(ended) && l.conversation.Abort(ctx) == nil {
		select {
		case <-ended:
		case <-l.lease.Agent.Done():
		case <-ctx.Done():
		}
	}
	s.input((*session.Machine).Aborted)
}

// awaitEnd returns a channel that is closed when a run has ended.
func (s *Session) awaitEnd(r *session.Run) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runEnded = make(chan struct{})
	if s.machine.Run() != r {
		close(s.runEnded)
	}
	return s.runEnded
}

// finish releases the conversation and ends the record. A run that waits for answers that can be given later stays open:
// its conversation must not be closed, which would end what it waits for, so only its process is stopped.
func (s *Session) finish() {
	if l, left := s.leaveRunOpen(); left {
		if l != nil {
			s.awaitReplies(l)
			l.lease.Release()
		}
		s.requestRelease()
		s.host.sessionClosed()
		return
	}
	s.releaseConversation()
	s.mu.Lock()
	s.inputLocked((*session.Machine).Finished)
	s.endRecordOfLife()
	s.mu.Unlock()
	s.host.sessionClosed()
}

// leaveRunOpen ends the record in the middle of a run that goes on later, if there is one, and returns the conversation.
func (s *Session) leaveRunOpen() (l *agentLink, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left = s.machine.LeaveRunOpen(); !left {
		return nil, false
	}
	l, s.link = s.link, nil // from here on its events are ignored
	s.perform()
	s.record.Close()
	s.setReaderPosition(positionWaiting, 1)
	s.storeHead()
	return l, true
}

// positionWaiting is the name of the reader position that marks a session at rest whose run waits for an answer.
const positionWaiting = "portal.waiting"

// endRecordOfLife ends the record of a session that has come to rest, and lets the recorder release the lease. Called with the lock held.
func (s *Session) endRecordOfLife() {
	s.record.Close()
	s.lease = s.lease.returning(false)
	s.storeHead()
}
