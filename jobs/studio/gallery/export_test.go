package gallery

import (
	"context"
	"errors"
)

// Unified exposes unified.
func Unified(nameA, nameB, a, b string) (string, error) { return unified(nameA, nameB, a, b) }

// Within returns the URL of a call.
func Within(base, target string) (string, error) {
	b, err := parseBase(base)
	if err != nil {
		return "", err
	}
	u, err := within(b, target)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// MayDial checks an address.
func (h *Host) MayDial(network, address string, private bool) error {
	return h.mayDial(network, address, private)
}

// Active returns the number of interfaces with a state in memory.
func (h *Host) Active() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.activeItems)
}

// ChangeSlowly calls meanwhile while a request is prepared, which then fails with errPrepared.
func (h *Host) ChangeSlowly(ctx context.Context, id string, meanwhile func()) error {
	return h.begin(ctx, id, "slowly", func(Item) (request, error) {
		meanwhile()
		return nil, errPrepared
	})
}

var errPrepared = errors.New("prepared")
