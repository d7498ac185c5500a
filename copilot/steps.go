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

// Time limits for the agent.
const (
	openTimeout   = 30 * time.Second
	sendTimeout   = 30 * time.Second
	modelTimeout  = 10 * time.Second // once the agent runs
	abortTimeout  = 2 * time.Second
	callTimeout   = 20 * time.Second // for calls during a run, which a busy machine must not end
	hurryTimeout  = 2 * time.Second  // for such calls when the result is no longer needed
	detachTimeout = time.Second

	compactTimeout = 5 * time.Minute // the model reads the whole conversation
)

// NoticeQueued is the kind of the [event.Notice] in a run that must wait until
// others have ended.
const NoticeQueued = "portal.queued"

// acquireSlot acquires the slot of the current run.
func (s *Session) acquireSlot() {
	ctx, cancel := s.interruptible()
	defer cancel()
	slots := s.host.runSlots
	ok := ctx.Err() == nil && slots.tryAcquire()
	if !ok && ctx.Err() == nil {
		text := fmt.Sprintf("This run waits for its turn: no more than %d may work at once (limits.runs).", slots.limit)
		raw, _ := json.Marshal(map[string]string{"text": text}) // strings always encode
		s.input(func(m *session.Machine) { m.SlotBusy(event.Notice{Kind: NoticeQueued, Raw: raw}) })
		ok = slots.acquire(ctx)
	}
	s.input(func(m *session.Machine) { m.SlotAcquired(ok) })
}

// openForRun opens the conversation for a run, and meanwhile takes the checkpoint of its start.
func (s *Session) openForRun(r *session.Run) {
	ctx, cancel := s.interruptible()
	defer cancel()
	awaitStart := s.checkpointStart(ctx, r)
	err := s.ensureConversation(ctx)
	awaitStart()
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
	return l.failed(ctx, err, fmt.Sprintf("compact the conversation within %v", compactTimeout))
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

// abort tells the agent to stop and waits, for a limited time, until the run has ended.
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

// finish releases the conversation, ends the record and lets the recorder release the lease. A run that waits for answers that can be given later stays open:
// closing its conversation would end what it waits for, so only its process is stopped.
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
	s.record.Close()
	s.lease = s.lease.returning(false)
	s.storeHead()
	s.mu.Unlock()
	s.host.sessionClosed()
}

// leaveRunOpen ends the record in the middle of a run that continues later, if there is one, and returns the conversation.
func (s *Session) leaveRunOpen() (l *agentLink, left bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left = s.machine.LeaveRunOpen(); !left {
		return nil, false
	}
	l, s.link = s.link, nil // its later events are ignored
	s.perform()
	s.record.Close()
	s.setReaderPosition(positionWaiting, 1)
	s.storeHead()
	return l, true
}

// positionWaiting is the name of the reader position that marks an inactive session whose run waits for an answer.
const positionWaiting = "portal.waiting"
