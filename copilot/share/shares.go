package share

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/copilot/store"
)

// Shares are the links to the sessions of a host. Its methods are safe for concurrent use.
type Shares struct {
	host    *copilot.Host
	storage storage

	mu   sync.Mutex
	uses map[*use]struct{}
}

// use is a request or connection of the holder of a link.
type use struct {
	share string
	end   context.CancelCauseFunc
}

// New returns the shares. Without a store they end with the process, as the sessions do.
func New(h *copilot.Host, s *store.Store) *Shares {
	shares := &Shares{host: h, storage: s, uses: map[*use]struct{}{}}
	if s == nil {
		shares.storage = &memory{host: h, byID: map[string]store.Share{}}
	}
	return shares
}

// Order describes a link to create.
type Order struct {
	Session  string
	Rights   Rights        // "": [Read]
	Lifetime time.Duration // 0: [DefaultLifetime]; at least a minute, at most [MaxLifetime]
	Label    string        // whom it is for; at most 100 characters; may be empty
}

// check completes an order.
func (o Order) check() (Order, error) {
	var err error
	if o.Rights, err = ParseRights(string(o.Rights)); err != nil {
		return o, err
	}
	o.Lifetime = cmp.Or(o.Lifetime, DefaultLifetime)
	if o.Lifetime < minLifetime || o.Lifetime > MaxLifetime {
		return o, errLifetime
	}
	o.Label = secret.Mask(strings.TrimSpace(o.Label))
	if utf8.RuneCountInString(o.Label) > maxLabel {
		return o, fault.Errorf(fault.Invalid, "the label has more than %d characters", maxLabel)
	}
	return o, nil
}

// Create creates a link. It is the only time that anybody sees its token. Errors: [fault.ErrSessionNotFound]; kind [fault.Invalid]; kind [fault.Busy]
// if the session has too many links; kind [fault.Unavailable] if the link cannot be stored.
func (s *Shares) Create(ctx context.Context, o Order) (x Share, token string, err error) {
	if o, err = o.check(); err != nil {
		return Share{}, "", err
	}
	if _, err = s.host.Session(ctx, o.Session); err != nil {
		return Share{}, "", err
	}
	id, token := newToken()
	now := time.UnixMilli(time.Now().UnixMilli())
	kept := store.Share{
		ID: id, Session: o.Session, Hash: hash(token), Rights: string(o.Rights), Label: o.Label, Created: now, Expires: now.Add(o.Lifetime),
	}
	switch added, err := s.storage.AddShare(ctx, kept, maxShares); {
	case err != nil:
		return Share{}, "", fault.Errorf(fault.Unavailable, "the link could not be stored: %w", err)
	case !added:
		return Share{}, "", fault.Errorf(fault.Busy, "the session has %d links; revoke one first", maxShares)
	}
	return fromStore(kept), token, nil
}

// List returns the valid links of a session, oldest first. Errors: [fault.ErrSessionNotFound]; kind [fault.Unavailable] if they cannot be read.
func (s *Shares) List(ctx context.Context, session string) ([]Share, error) {
	if _, err := s.host.Session(ctx, session); err != nil {
		return nil, err
	}
	kept, err := s.storage.Shares(ctx, session)
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "the links could not be read: %w", err)
	}
	list := make([]Share, 0, len(kept))
	for _, x := range kept {
		list = append(list, fromStore(x))
	}
	return list, nil
}

// Revoke ends a link of a session, with everything that is open by it in this process. Other portals with the same store follow within
// a second. Errors: kind [fault.NotFound]; kind [fault.Unavailable] if the store cannot be written.
func (s *Shares) Revoke(ctx context.Context, session, id string) error {
	deleted, err := s.storage.DeleteShare(ctx, session, id)
	switch {
	case err != nil:
		return fault.Errorf(fault.Unavailable, "the link could not be revoked: %w", err)
	case !deleted:
		return fault.Errorf(fault.NotFound, "the session has no such link: it has expired or was revoked")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for u := range s.uses {
		if u.share == id {
			u.end(ErrNotFound)
		}
	}
	return nil
}

// Find returns the link of a token. Errors: [ErrNotFound]; kind [fault.Unavailable] if links cannot be read.
func (s *Shares) Find(ctx context.Context, token string) (Share, error) {
	x, err := s.storage.Share(ctx, IDOf(token))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Share{}, ErrNotFound
	case err != nil:
		return Share{}, fault.Errorf(fault.Unavailable, "the link could not be read: %w", err)
	case !matches(token, x):
		return Share{}, ErrNotFound
	}
	return fromStore(x), nil
}
