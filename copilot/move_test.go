package copilot_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
)

// movedFrom returns the id of a session with a run, whose conversation was copied by another node.
func (h *home) movedFrom(node string) (id string) {
	h.t.Helper()
	p := h.portalWith(copilot.Options{Moves: &copilot.Moves{
		Node: node,
		Pack: func(context.Context, string) ([]byte, error) { return []byte("packed"), nil },
		Put:  func(context.Context, string, []byte) error { return nil },
	}})
	s := p.start()
	prompt(h.t, s, "first")
	settle()
	p.stop()
	return s.ID()
}

func TestBackgroundWorkMayEndAlthoughTheTimeOfTheStopHasPassed(t *testing.T) {
	atHome(t, "a copy of a conversation is made", func(h *home) {
		copied := false
		p := h.portalWith(copilot.Options{Moves: &copilot.Moves{
			Node: "a",
			Pack: func(context.Context, string) ([]byte, error) { return []byte("packed"), nil },
			Put: func(ctx context.Context, _ string, _ []byte) error {
				select {
				case <-time.After(1800 * time.Millisecond):
					copied = true
				case <-ctx.Done():
				}
				return ctx.Err()
			},
		}})
		prompt(h.t, p.start(), "first")
		settle()
		late, cancel := context.WithCancel(h.t.Context())
		cancel()
		p.host.Close(late)
		require.NoError(h.t, p.store.Close())
		assert.True(h.t, copied)
	})
}

func TestConversationIsFetchedFromItsLastNode(t *testing.T) {
	for name, c := range map[string]struct {
		failure  error // of Get
		damage   error // of Unpack
		goesOn   bool
		unpacked int // in the end
	}{
		"by the next prompt if it could not be at first":          {errors.New("out of reach"), nil, false, 1},
		"by the next prompt if it could not be unpacked at first": {nil, errors.New("the disk is full"), false, 1},
		"or the agent goes on without a copy":                     {fs.ErrNotExist, nil, true, 0},
		"or the agent goes on without a damaged copy":             {fault.Errorf(fault.Invalid, "damaged"), nil, true, 0},
		"or the agent goes on if a copy cannot be unpacked":       {nil, fault.Errorf(fault.Invalid, "damaged"), true, 0},
	} {
		atHome(t, name, func(h *home) {
			t := h.t
			id := h.movedFrom("a")
			failure, damage, unpacked := c.failure, c.damage, 0
			moves := &copilot.Moves{
				Node: "b",
				Get: func(context.Context, string) ([]byte, error) {
					if failure != nil {
						return nil, failure
					}
					return []byte("packed"), nil
				},
				Unpack: func(_ context.Context, session string, packed []byte) error {
					assert.Equal(t, id, session)
					assert.Equal(t, "packed", string(packed))
					if damage != nil {
						return damage
					}
					unpacked++
					return nil
				},
				Pack: func(context.Context, string) ([]byte, error) { return nil, errors.New("no copy") },
			}
			p := h.portalWith(copilot.Options{Moves: moves})
			defer p.stop()
			s := p.session(id)
			prompt(t, s, "second")
			settle()
			require.Contains(t, plot(t, s), "failure (unavailable)")
			require.Equal(t, c.goesOn, slices.Contains(plot(t, s), "says: second"))
			failure, damage = nil, nil
			prompt(t, s, "third")
			settle()
			assert.Contains(t, plot(t, s), "says: third")
			assert.Equal(t, c.unpacked, unpacked)
		})
	}
}
