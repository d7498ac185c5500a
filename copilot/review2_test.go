package copilot_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
)

// R14: who has an older object of a session that memory has dropped.
func TestReview2DroppedObject(t *testing.T) {
	atHome(t, "one process does not refuse itself", func(h *home) {
		t := h.t
		p := h.portalWith(copilot.Options{KeepClosed: 1})
		defer p.stop()
		s := p.start()
		prompt(t, s, "first")
		time.Sleep(31 * time.Minute) // lies down
		for range 3 {
			o := p.start()
			prompt(t, o, "x")
			settle()
			o.Close()
			settle()
		}
		again := p.session(s.ID())
		t.Log(again == s)
		prompt(t, again, "second")
		settle()
		_, err := s.Prompt(copilot.Prompt{Text: "third"})
		assert.NoError(t, err)
	})
}

// R15: a client closes a session, the portal is killed while the run ends.
func TestReview2CreateTrouble(t *testing.T) {
	atHome(t, "sessions of a store that takes nothing leave memory", func(h *home) {
		t := h.t
		h.options.MaxBytes = 200 << 10
		p := h.portalWith(copilot.Options{KeepClosed: 5})
		for range 400 {
			s := p.start()
			prompt(t, s, "x")
			synctest.Wait()
			s.Close()
		}
		settle()
		require.NotNil(t, p.host.Trouble())
		n := 0
		for _, c := range p.host.Stats().Sessions {
			n += c
		}
		t.Log("in memory", n, p.host.Trouble())
		p.kill()
	})
}
