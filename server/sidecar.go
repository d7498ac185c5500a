package server

import (
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/rpc"
)

// Sidecar contains the settings of IDE sessions; see [rpc.Options].
type Sidecar struct {
	Idle           time.Duration `mapstructure:"idle"`            // time after which an unused session is closed; 0 means never
	Callback       string        `mapstructure:"callback"`        // address of the IDE, for the tools that it executes
	CallbackRemote bool          `mapstructure:"callback_remote"` // the callback may be on another machine
	Unattended     time.Duration `mapstructure:"unattended"`      // time after which a question that no client can answer is decided; 0 means never
}

func (s *Sidecar) check(fault func(format string, args ...any)) {
	if s.Idle < 0 {
		fault("sidecar.idle: %v is negative; use 0 to keep sessions open", s.Idle)
	}
	if s.Unattended < 0 {
		fault("sidecar.unattended: %v is negative; use 0 to let questions wait as long as their run", s.Unattended)
	}
	if _, err := rpc.CallbackAddress(s.Callback, s.CallbackRemote); err != nil {
		fault("sidecar.callback: %w", err)
	}
}

// unattended returns what happens to questions of IDE sessions that no client can answer.
func (c Config) unattended() map[string]copilot.Unattended {
	return rpc.Unattended(c.Sidecar.Unattended, c.Permissions.Headless, c.Sidecar.Callback)
}

// newRPC creates the dialect of IDEs as configured.
func (s *Server) newRPC() *rpc.API {
	c := s.config
	return rpc.New(rpc.Options{
		Host: s.host, Shares: s.shares, Admit: admitLinked(linkedRPC()), WorkDir: workDir(), BasePath: c.BasePath, Idle: c.Sidecar.Idle,
		Callback: c.Sidecar.Callback, Remote: c.Sidecar.CallbackRemote, Limit: c.Limits.Tool,
		More: s.newCLI().Methods(), Sockets: s.webSockets.rpc, Log: s.log,
	})
}
