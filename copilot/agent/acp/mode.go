package acp

import (
	"context"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// maxDepartures is how often an agent may leave the safe mode in a conversation. Then a departure ends its turn: it would go on without asking.
const maxDepartures = 3

// modeTimeout is how long an agent may take to change its mode.
const modeTimeout = 10 * time.Second

// mode returns the mode of the session; false if it has none.
func (s settings) mode() (mode string, has bool) {
	if o, ok := s.option("mode"); ok {
		return o.current(), true
	}
	if s.Modes == nil {
		return "", false
	}
	return s.Modes.Current, true
}

// setMode records the mode. It modifies nothing that copies of s share.
func (s *settings) setMode(mode string) {
	modes := acp.ModeState{Current: mode}
	if s.Modes != nil {
		modes.Available = s.Modes.Available
	}
	s.Modes, s.Options = &modes, slices.Clone(s.Options)
	for i := range s.Options {
		if s.Options[i].Category == "mode" {
			s.Options[i].Current = mode
		}
	}
}

// ensureMode selects the mode in which the agent asks before it acts, unless it is selected. An agent that has modes, but not this one, is not used.
func (c *conversation) ensureMode(ctx context.Context, s *settings) error {
	mode := c.agent.driver.preset.mode
	if current, has := s.mode(); mode == "" || !has || current == mode {
		return nil
	}
	if err := c.selectMode(ctx, *s, mode); err != nil {
		return err
	}
	s.setMode(mode)
	return nil
}

// selectMode makes the agent change the mode, with the option for it or with the older method.
func (c *conversation) selectMode(ctx context.Context, s settings, mode string) error {
	if o, ok := s.option("mode"); ok {
		if !slices.ContainsFunc(o.values(), func(v configValue) bool { return v.Value == mode }) {
			return c.noMode(mode)
		}
		return c.agent.call(ctx, "session/set_config_option", setOptionParams{c.id, o.ID, mode}, nil)
	}
	if !slices.ContainsFunc(s.Modes.Available, func(m acp.Mode) bool { return m.ID == mode }) {
		return c.noMode(mode)
	}
	return c.agent.call(ctx, "session/set_mode", acp.SetModeParams{SessionID: c.id, Mode: mode}, nil)
}

func (c *conversation) noMode(mode string) error {
	return fault.Errorf(fault.Unavailable, "the agent %s does not offer the mode %q, in which it asks before it acts: its version is not supported",
		c.agent.Name, mode)
}

// returnToMode is ensureMode for an open conversation.
func (c *conversation) returnToMode(ctx context.Context) error {
	c.mu.Lock()
	s, departures := c.settings, c.departures
	s.Options = slices.Clone(s.Options) // they change in place
	c.mu.Unlock()
	if err := c.ensureMode(ctx, &s); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if mode, has := s.mode(); has && c.departures == departures { // else the agent may have left the mode again
		c.settings.setMode(mode)
	}
	return nil
}

// modeChanged makes an agent that has left the safe mode return to it. The caller must hold the lock.
func (c *conversation) modeChanged() {
	safe := c.agent.driver.preset.mode
	mode, has := c.settings.mode()
	if safe == "" || !has || mode == safe || c.closed {
		return
	}
	if c.departures++; c.departures > maxDepartures {
		c.stopTurn(fault.Errorf(fault.Denied, "the agent %s left the mode %q, in which it asks before it acts, for %q again and again, so the prompt was cancelled", c.agent.Name, safe, mode))
		return
	}
	c.agent.driver.options.Log.Warn("an agent left the mode in which it asks", "agent", c.agent.Name, "mode", mode)
	c.agent.start(func() {
		ctx, cancel := context.WithTimeout(context.Background(), modeTimeout)
		defer cancel()
		if err := c.returnToMode(ctx); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.stopTurn(err)
		}
	})
}

// stopTurn cancels the turn because of an error. The caller must hold the lock.
func (c *conversation) stopTurn(err error) {
	t := c.activeTurn()
	if t == nil {
		return // the next prompt selects the mode first
	}
	c.endText(t)
	c.emit(event.NewSessionError(err))
	t.stopped = true
	close(t.abort)
	c.withdrawQuestions()
	c.agent.start(func() { _ = c.cancel(context.Background()) }) // the turn ends with the connection
}
