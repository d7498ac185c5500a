package server

import (
	"net/http"
	"os/user"
	"time"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ws"
	"github.com/copilot-portal/portal/jobs/operation"
)

// Operations are pieces of work that are watched over WebSockets; see [ws.Options].
type Operations struct {
	Retention   time.Duration `mapstructure:"retention"`   // how long one is known after its end
	Connections int           `mapstructure:"connections"` // that a session id may have at a time
	Compression bool          `mapstructure:"compression"` // of messages over 1 KB
}

func (o *Operations) check(fault func(format string, args ...any)) {
	if o.Retention <= 0 {
		fault("operations.retention: %v is no time in which clients could come back", o.Retention)
	}
	if o.Connections < 1 {
		fault("operations.connections: %d lets nobody watch", o.Connections)
	}
}

func newOperations(k *portalCore) *operation.Host {
	d, _ := permission.ParseDecision(k.config.Permissions.Operations) // check has validated it
	return operation.New(operation.Options{
		Sessions: k.host, Store: k.storage.store, Policy: permission.Everywhere(d), Directory: workDir(),
		Retention: k.config.Operations.Retention, Log: k.log,
	})
}

// newWS makes the dialect in which operations are watched.
func (s *Server) newWS() *ws.API {
	return ws.New(ws.Options{
		Operations: s.work, Store: s.storage.store, BasePath: s.config.BasePath,
		Token:      func() string { return s.guard.token }, // is known when the port is open
		Authorized: func(r *http.Request) bool { return s.guard.authorized(r) },
		Guesses:    &s.guesses,
		Admit:      markAuthenticated,
		User:       systemUser, Connections: s.config.Operations.Connections, Sockets: s.carriers.ws, Log: s.log,
	})
}

// systemUser is the account that the portal runs under, "" if it has no name.
func systemUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
