package operation

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// followEvery is how often what another process writes is looked at; readTimeout
// is how long reading may take for somebody who does not wait.
const (
	followEvery = 250 * time.Millisecond
	readTimeout = 5 * time.Second
)

// stored is what the store knows of the operation; what was known last if it cannot
// be read.
func (o *Operation) stored() Info {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	a, err := o.host.options.Store.Activity(ctx, kind, o.id)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return o.info
	}
	if info, err := infoOf(a); err == nil {
		o.info = info
	}
	return o.info
}

// nextStored is Next for what another process or life has written. after is a number
// of the store.
func (o *Operation) nextStored(ctx context.Context, after uint64, limit int) ([]Message, error) {
	for {
		messages, end, err := o.readStored(ctx, after, limit)
		switch {
		case err != nil || len(messages) > 0:
			return messages, err
		case end:
			return nil, io.EOF
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// readStored is one read; end says that nothing stands behind the number, nor will.
func (o *Operation) readStored(ctx context.Context, after uint64, limit int) (messages []Message, end bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	s := o.host.options.Store
	a, err := s.Activity(ctx, kind, o.id) // before the lines: what is done has all of them
	if errors.Is(err, store.ErrNotFound) {
		return nil, true, o.missing(after)
	}
	if err != nil {
		return nil, false, unavailable(err)
	}
	lines, err := s.Lines(ctx, kind, o.id, after, limit)
	if err != nil {
		return nil, false, unavailable(err)
	}
	for _, line := range lines {
		m, err := decode(line)
		if err != nil {
			return nil, false, copilot.Errorf(copilot.Internal, "a stored message cannot be read: %w", err)
		}
		messages = append(messages, m)
	}
	if len(messages) == 0 && after < a.Last {
		return nil, false, notFound() // just now
	}
	if len(messages) == 0 && !a.Done && a.Owner == 0 {
		_ = o.host.Recover(ctx) // its process has ended; if that fails now, the next look tries again
	}
	return messages, a.Done, nil
}

// missing is no error behind the end of an operation that the store has forgotten: who
// has read it misses nothing.
func (o *Operation) missing(after uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.info.Status.Ended() && after >= uint64(o.info.Messages) { //nolint:gosec // at most MaxMessages
		return nil
	}
	return notFound()
}

func unavailable(err error) error {
	return copilot.Errorf(copilot.Unavailable, "the operation cannot be read: %w", err)
}

// cancelStored says why it cannot be cancelled here.
func (o *Operation) cancelStored(ctx context.Context) error {
	a, err := o.host.options.Store.Activity(ctx, kind, o.id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // it had ended
	case err != nil:
		return unavailable(err)
	case a.Done:
		return nil
	case a.Owner == 0:
		return o.host.Recover(ctx)
	}
	return copilot.Errorf(copilot.Busy, "the operation belongs to the portal with the process id %d: cancel it there", a.Owner)
}

// Recover ends what a portal that was killed has left: with an error, complete and
// the status Interrupted. It may be called again at any time.
func (h *Host) Recover(ctx context.Context) error {
	if h.options.Store == nil {
		return nil
	}
	taken, err := h.options.Store.Adopt(ctx, kind)
	h.mu.Lock()
	for _, a := range taken {
		h.left[a.ID] = a
	}
	left := slices.Collect(maps.Values(h.left))
	h.mu.Unlock()
	for _, a := range left {
		err = errors.Join(err, h.settleLeft(ctx, a))
	}
	return err
}

// settleLeft buries what was taken. If that fails it is tried again the next time, for
// nobody else will.
func (h *Host) settleLeft(ctx context.Context, a store.Activity) error {
	err := h.bury(ctx, a)
	if err != nil && !errors.Is(err, store.ErrLost) { // it has been ended meanwhile
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.left, a.ID)
	return nil
}

// bury ends what nobody does any more.
func (h *Host) bury(ctx context.Context, a store.Activity) error {
	info, err := infoOf(a)
	if err != nil {
		info = Info{ID: a.ID, Created: a.Created, Messages: int(a.Last)} //nolint:gosec // at most MaxMessages
	}
	e := ending{status: Interrupted, why: "The portal ended while the operation ran."}
	messages := number(&info, e.drafts())
	e.change(&info)
	if _, err := h.options.Store.Note(ctx, activityOf(info), frames(messages)...); err != nil {
		return err
	}
	if s, err := h.options.Sessions.Session(ctx, info.Session); err == nil {
		_ = s.Cancel(s.Info().Run) // what waits there for an answer; mostly there is nothing
	}
	return nil
}
