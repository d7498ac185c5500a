package server

import (
	"net/http"
	"os/user"
	"time"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ws"
	"github.com/copilot-portal/portal/jobs/operation"
)

// Operations contains the settings of operations, which clients watch over WebSockets; see [ws.Options].
type Operations struct {
	Retention   time.Duration `mapstructure:"retention"`   // how long an operation is kept after its end
	Connections int           `mapstructure:"connections"` // maximum number of connections per session id
	Compression bool          `mapstructure:"compression"` // of messages, for clients that offer it
}

func (o *Operations) check(fault func(format string, args ...any)) {
	if o.Retention <= 0 {
		fault("operations.retention: %v must be positive", o.Retention)
	}
	if o.Connections < 1 {
		fault("operations.connections: %d must be positive", o.Connections)
	}
}

func newOperations(k *portalCore) *operation.Host {
	return operation.New(operation.Options{
		Sessions: k.host, Store: k.storage.store, Policy: permission.Everywhere(k.config.Permissions.Operations), Directory: workDir(),
		Retention: k.config.Operations.Retention, Log: k.log,
	})
}

// newWS creates the dialect of operations.
func (s *Server) newWS() *ws.API {
	return ws.New(ws.Options{
		Operations: s.work, Store: s.storage.store, BasePath: s.config.BasePath,
		Token:      func() string { return s.guard.token }, // known only when the port is open
		Authorized: func(r *http.Request) bool { return s.guard.authorized(r) },
		Guesses:    &s.guesses,
		Admit:      markAuthenticated,
		User:       systemUser, Connections: s.config.Operations.Connections, Sockets: s.webSockets.ws, Log: s.log,
	})
}

// systemUser returns the name of the user that the portal runs as, or "".
func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
