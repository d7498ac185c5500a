package copilot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// Moves carries the saved conversations of the first agent between the nodes of a cluster, so that the model knows the past wherever a
// session goes.
type Moves struct {
	Node   string // this one
	Pack   func(ctx context.Context, session string) ([]byte, error)
	Unpack func(ctx context.Context, session string, packed []byte) error // fails with kind [fault.Invalid] if the copy is damaged
	Put    func(ctx context.Context, name string, data []byte) error
	Get    func(ctx context.Context, name string) ([]byte, error) // fails with [fs.ErrNotExist], or with kind [fault.Invalid] for a damaged object
}

// savedConversation says where the newest copy of a conversation is.
type savedConversation struct {
	Node   string `json:"node,omitzero"`   // whose agent had it open last
	Object string `json:"object,omitzero"` // name of the packed copy of its last idle moment; "": none
}

// savedPrefix begins the own name of an object with a copy of a conversation; its hash follows.
const savedPrefix = "conversation-"

// NeedsObject reports whether a session needs an object of its own, which is not so for copies of its conversation before the newest one.
func NeedsObject(head store.Session, object string) bool {
	if _, name := store.SplitObject(object); !strings.HasPrefix(name, savedPrefix) {
		return true
	}
	m, err := decodeMeta(head)
	return err != nil || m.Saved.Object == object
}

// moveTime limits the move of a conversation.
const moveTime = 20 * time.Second

// movesConversation reports whether the session's conversation moves between nodes. The caller must hold the lock.
func (s *Session) movesConversation() bool {
	return s.host.options.Moves != nil && s.settings.Agent == ""
}

// fetchConversation unpacks the conversation if another node had it open last. Without a copy, or if that is damaged, the agent goes on
// without the past, and the record says so. It must not do so while the copy cannot be read: its next copy would replace that one.
func (s *Session) fetchConversation(ctx context.Context) error {
	s.mu.Lock()
	saved, moves := s.settings.Saved, s.movesConversation()
	m := s.host.options.Moves
	s.mu.Unlock()
	if !moves || saved.Node == m.Node {
		return nil
	}
	if saved.Object != "" {
		switch err := s.fetchCopy(ctx, saved.Object); {
		case err == nil:
		case fault.KindOf(err) == fault.Invalid:
			s.reportLostCopy(saved.Node, err)
		default:
			return fault.Errorf(fault.Unavailable, "the conversation could not be fetched from %q, where the session was last; try again: %w", saved.Node, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings.Saved.Node = m.Node
	s.storeHead()
	return nil
}

// fetchCopy unpacks a copy of the conversation. If that is lost, the error has kind [fault.Invalid].
func (s *Session) fetchCopy(ctx context.Context, object string) error {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	packed, err := s.host.options.Moves.Get(ctx, object)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault.Errorf(fault.Invalid, "the copy does not exist: %w", err)
	case err != nil:
		return err
	}
	return s.host.options.Moves.Unpack(ctx, s.id, packed)
}

// reportLostCopy reports that the copy of the conversation from another node does not exist, or is damaged.
func (s *Session) reportLostCopy(node string, err error) {
	s.host.options.Log.Warn("the copy of a conversation is lost", "session", s.id, "node", node, "err", err)
	s.recordError(event.SessionError{
		Kind: fault.Unavailable,
		Text: fmt.Sprintf("the copy of the conversation from %q is lost: the agent does not know what happened there", node),
		Hint: "Repeat what it needs to know. The record keeps the earlier conversation.",
	})
}

// shipConversation makes a copy of the conversation for other nodes, in the background. The caller must hold the lock, after a run.
func (s *Session) shipConversation() {
	if !s.movesConversation() || s.host.work.ctx.Err() != nil {
		return
	}
	run := s.settings.Run
	s.shipping = s.host.work.after(s.shipping, moveTime, func(ctx context.Context) {
		if err := s.shipOnce(ctx, run); err != nil && ctx.Err() == nil && fault.KindOf(err) != fault.NotFound {
			s.host.options.Log.Info("a conversation was not copied for other nodes", "session", s.id, "err", err)
		}
	})
}

// shipOnce copies the conversation as it is after a run, unless the next one has begun.
func (s *Session) shipOnce(ctx context.Context, run string) error {
	m := s.host.options.Moves
	packed, err := m.Pack(ctx, s.id)
	if err != nil || !s.isIdleAfter(run) {
		return err
	}
	sum := sha256.Sum256(packed)
	name := store.ObjectName(store.SessionSubject(s.id), savedPrefix+hex.EncodeToString(sum[:]))
	if err := m.Put(ctx, name, packed); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == leaseHeld && s.settings.Run == run {
		s.settings.Saved = savedConversation{m.Node, name}
		s.storeHead()
	}
	return nil
}

// isShipping reports whether a copy of the conversation is being made, which needs the lease.
func (s *Session) isShipping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shipping != nil && !agent.IsClosed(s.shipping)
}

// isIdleAfter reports whether nothing has happened since a run.
func (s *Session) isIdleAfter(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.Run == run && s.settings.Outcome != "" && s.machine.Run() == nil && s.machine.State() != session.Closed
}
