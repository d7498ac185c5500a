package server

import (
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/rpc"
)

// Sidecar is about sessions of an IDE; see [rpc.Options].
type Sidecar struct {
	Idle           time.Duration `mapstructure:"idle"`            // until a session that nobody uses is closed; 0: never
	Callback       string        `mapstructure:"callback"`        // address of the IDE, for the tools that it carries out
	CallbackRemote bool          `mapstructure:"callback_remote"` // it may be on another machine
	Unattended     time.Duration `mapstructure:"unattended"`      // until a question that no client can answer is decided; 0: never
}

func (s *Sidecar) check(fault func(format string, args ...any)) {
	if s.Idle < 0 {
		fault("sidecar.idle: %v is negative; 0 keeps sessions open", s.Idle)
	}
	if s.Unattended < 0 {
		fault("sidecar.unattended: %v is negative; 0 lets questions wait for as long as their run", s.Unattended)
	}
	if _, err := rpc.CallbackAddress(s.Callback, s.CallbackRemote); err != nil {
		fault("sidecar.callback: %w", err)
	}
}

// unattended says what becomes of the questions of sessions of an IDE that nobody can answer.
func (c Config) unattended() map[string]copilot.Unattended {
	return rpc.Unattended(c.Sidecar.Unattended, permission.Decision(c.Permissions.Headless), c.Sidecar.Callback)
}

// newRPC makes the dialect of IDEs as configured.
func (s *Server) newRPC() *rpc.API {
	c := s.config
	return rpc.New(rpc.Options{
		Host: s.host, WorkDir: workDir(), BasePath: c.BasePath, Idle: c.Sidecar.Idle,
		Callback: c.Sidecar.Callback, Remote: c.Sidecar.CallbackRemote, Limit: c.Limits.Tool,
		More: s.newCLI().Methods(), Sockets: s.carriers.rpc, Log: s.log,
	})
}
