package copilot

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// maxTitle is the maximum length of a title, in characters.
const maxTitle = 200

// Rename sets the session's title, which titles of the agent do not replace. Closed sessions can be renamed. Errors: kind
// [fault.Invalid] for a title that is empty or too long, [fault.ErrSessionInUse], kind [fault.Unavailable].
func (s *Session) Rename(ctx context.Context, title string) error {
	title = strings.Join(strings.FieldsFunc(title, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }), " ")
	switch n := utf8.RuneCountInString(title); {
	case title == "" || !utf8.ValidString(title):
		return fault.Errorf(fault.Invalid, "the title is empty")
	case n > maxTitle:
		return fault.Errorf(fault.Invalid, "the title has %d characters; %d are allowed", n, maxTitle)
	}
	return s.host.commands.rename.effect(ctx, s, title)
}

func (s *Session) renameHere(ctx context.Context, title string) error {
	return s.update(ctx, func() {
		s.title, s.titledBy = secret.Mask(title), titleByUser
		s.recordInRun("", event.TitleChanged{Title: title})
	})
}

// Placement says where lists show a session. Fields that are nil do not change.
type Placement struct {
	Pinned   *bool // before the others
	Archived *bool // only on request; a prompt takes the session out of the archive
}

// Place changes where lists show the session. It is no change of the session itself: its position in the order of changes stays.
// Closed sessions can be placed. Errors: [fault.ErrSessionInUse], kind [fault.Unavailable].
func (s *Session) Place(ctx context.Context, p Placement) error {
	return s.host.commands.place.effect(ctx, s, p)
}

func (s *Session) placeHere(ctx context.Context, p Placement) error {
	return s.update(ctx, func() {
		if p.Pinned != nil {
			s.settings.Pinned = *p.Pinned
		}
		if p.Archived != nil {
			s.settings.Archived = *p.Archived
		}
		s.storeHead()
	})
}

// update calls change with the session's lock held. It holds the lease of an inactive session meanwhile.
func (s *Session) update(ctx context.Context, change func()) error {
	return s.exclusively(ctx, func(ctx context.Context) error {
		if s.tryAmend(change) {
			return nil
		}
		return s.updateSuspended(ctx, change)
	})
}

// updateSuspended is update for an inactive session. The caller must have entered the gate.
func (s *Session) updateSuspended(ctx context.Context, change func()) error {
	if err := s.awaitLoopEnd(ctx); err != nil {
		return err
	}
	defer s.requestRelease()
	if err := s.acquireLease(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Reopen()
	defer s.endRecord()
	change()
	return nil
}

// tryAmend is update for an active session; it returns false for others.
func (s *Session) tryAmend(change func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine.State() != session.Active {
		return false
	}
	change()
	return true
}

// deleteTime limits a deletion, which may start an agent and does not end with the call of the client.
const deleteTime = slowCommandTime

// Delete closes a session and deletes it with its record and the agent's copy, for which it may start an agent process. Once it has begun,
// it goes on when ctx ends.
// Errors: [fault.ErrSessionNotFound], [fault.ErrSessionInUse], kind [fault.Unavailable] if the store cannot be written;
// [fault.ErrCopyLeft], with the cause, if only the agent's copy remains.
func (h *Host) Delete(ctx context.Context, id string) error {
	s, err := h.Session(ctx, id)
	if err != nil {
		return err
	}
	err = h.commands.remove.effect(ctx, s, none{})
	if err == nil || errors.Is(err, fault.ErrCopyLeft) {
		h.forgetDeleted(s)
	}
	return err
}

// deleteHere is [Host.Delete] in the process that holds the session.
func (s *Session) deleteHere(ctx context.Context) error {
	s.shutDown((*session.Machine).Close)
	ctx, cancel := s.host.work.lasting(ctx, deleteTime)
	defer cancel()
	if err := s.remove(ctx); err != nil {
		return err
	}
	s.host.forgetDeleted(s)
	s.forgetCheckpoints(ctx)
	if err := s.deleteAgentCopy(ctx); err != nil {
		return fault.Errorf(fault.KindOf(err), "%w: %w", fault.ErrCopyLeft, err)
	}
	return nil
}

// remove deletes the session from the store.
func (s *Session) remove(ctx context.Context) error {
	if s.host.options.Store == nil {
		return nil
	}
	s.storage.mu.Lock()
	defer s.storage.mu.Unlock()
	var err error
	if s.storage.lease != nil {
		err = s.storeAndRelease(ctx) // if the deletion fails, the stored session is complete
	}
	if err == nil {
		err = s.host.options.Store.Delete(ctx, s.id)
	}
	var inUse *store.InUseError
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound) && !s.storage.stored:
		s.storage.stored = true // prevents the recorder from creating it again
		return nil
	case errors.As(err, &inUse), errors.Is(err, store.ErrNotFound):
		return s.acquireError(err)
	}
	return fault.Errorf(fault.Unavailable, "the stored session could not be deleted: %w", err)
}

// deleteAgentCopy removes the agent's copy of the conversation.
func (s *Session) deleteAgentCopy(ctx context.Context) error {
	a, err := s.agentPool()
	if err != nil {
		return err
	}
	return a.forget(ctx, s.id)
}

// forget removes the agent's copies of conversations. Those that it cannot try to remove are left for the next [Host.DeleteExpired].
func (p *agentPool) forget(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	lease, err := p.pool.Acquire(ctx)
	if err != nil {
		p.leave(ids)
		return err
	}
	defer lease.Release()
	var faults []error
	for i, id := range ids {
		faults = append(faults, lease.Agent.Forget(ctx, id))
		if ctx.Err() != nil {
			p.leave(ids[i:])
			break
		}
	}
	return errors.Join(faults...)
}

// leave keeps deleted sessions whose copies the agent still has.
func (p *agentPool) leave(ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = append(p.left, ids...)
}

// takeLeft returns what was left, once.
func (p *agentPool) takeLeft() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids := p.left
	p.left = nil
	return ids
}

// DeleteExpired deletes unused sessions, with the agent's copies: those that did not change for longer
// than age, then the oldest ones until the store has at most the given number of bytes. 0 means no limit. With origins, it deletes
// only sessions of these. It returns the number of deleted sessions. Copies of earlier deletions for which there was no agent are deleted, too.
func (h *Host) DeleteExpired(ctx context.Context, age time.Duration, bytes int64, origins ...string) (int, error) {
	if h.options.Store == nil {
		return 0, nil
	}
	var deleted []store.Deleted
	var err error
	if age > 0 || bytes > 0 {
		deleted, err = h.options.Store.DeleteExpired(ctx, age, bytes, origins...)
	}
	for _, d := range deleted {
		h.clientServers.forget(d.ID)
		if s, ok := h.Loaded(d.ID); ok {
			h.forgetDeleted(s)
		}
		h.agentOf(d.Model).leave([]string{d.ID})
	}
	for _, a := range h.agents {
		err = errors.Join(err, a.forget(ctx, a.takeLeft()...))
	}
	return len(deleted), err
}
