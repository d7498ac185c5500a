package copilot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestDrainingHostHandsItsSessionsOver(t *testing.T) {
	atHome(t, "idle ones within a second, others when their runs have ended", func(h *home) {
		t := h.t
		h.agents.Script = asksToRun
		a, b := h.portal(), h.portal()
		defer a.stop()
		defer b.stop()
		idle := a.start()
		prompt(t, idle, "echo")
		busy := a.start()
		prompt(t, busy, "first")
		settle()

		got := a.host.Drain(true)
		assert.Equal(t, copilot.Draining{Draining: true, Sessions: 2, Runs: 1}, got)
		time.Sleep(time.Second)
		settle()
		assert.Equal(t, copilot.Draining{Draining: true, Sessions: 1, Runs: 1}, a.host.Draining())
		prompt(t, b.session(idle.ID()), "second")
		settle()
		assert.Contains(t, plot(t, b.session(idle.ID())), "says: second")

		require.NoError(t, busy.Answer("q", event.Answer{Approved: true}, "test"))
		time.Sleep(time.Second)
		settle()
		assert.Equal(t, copilot.Draining{Draining: true}, a.host.Draining())
		assert.Contains(t, plot(t, b.session(busy.ID())), "says: approved: yes")
	})
	atHome(t, "and opens none until it may again", func(h *home) {
		t := h.t
		p := h.portal()
		defer p.stop()
		s := p.start()
		p.host.Drain(true)
		time.Sleep(time.Second)
		settle()
		_, err := p.host.Start(t.Context(), copilot.Start{Origin: "test", Directory: h.work})
		assert.Equal(t, fault.Unavailable, fault.KindOf(err))
		_, err = s.Prompt(event.Prompt{Text: "refused"})
		assert.Equal(t, fault.Unavailable, fault.KindOf(err))

		p.host.Drain(false)
		prompt(t, s, "first")
		settle()
		assert.Contains(t, plot(t, s), "says: first")
		time.Sleep(time.Minute)
		assert.Equal(t, 1, p.host.Draining().Sessions, "it is no longer suspended at once")
	})
}

func TestPortalDrainsAnother(t *testing.T) {
	h := connected(t)
	a, b := h.connectedPortal(copilot.Options{}), h.connectedPortal(copilot.Options{})
	defer a.stop()
	defer b.stop()
	got, err := b.host.DrainProcess(t.Context(), a.store.Name(), true)
	require.NoError(t, err)
	assert.True(t, got.Draining)
	assert.True(t, a.host.Draining().Draining)
	assert.False(t, b.host.Draining().Draining)
	_, err = b.host.DrainProcess(t.Context(), "nobody", true)
	assert.Equal(t, fault.Unavailable, fault.KindOf(err))
	got, err = b.host.DrainProcess(t.Context(), b.store.Name(), true)
	require.NoError(t, err)
	assert.True(t, got.Draining)
}
