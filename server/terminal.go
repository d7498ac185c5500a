package server

import (
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/handlers/terminal"
)

// newTerminal returns the dialect of terminals.
func (s *Server) newTerminal() *terminal.API {
	return terminal.New(terminal.Options{
		Host: s.host, Sockets: s.webSockets.terminal, Environ: s.config.shellEnvironment(os.Environ()), Refusal: s.terminalRefusal, Log: s.log,
	})
}

// terminalRefusal says why there is no terminal. It does not rely on the token that [Server.Listen] generates.
func (s *Server) terminalRefusal() (why terminal.Refusal) {
	switch {
	case !s.config.Terminal:
		return terminal.Refusal{Status: http.StatusNotFound, Text: "the terminal is off: set terminal: true in the configuration, or start the portal with --terminal"}
	case s.config.Token == "" && (!isLoopback(s.config.Host) || !s.listeners.areLoopback()):
		return terminal.Refusal{Status: http.StatusForbidden, Text: "the portal listens beyond this machine without a token, so there is no terminal: set a token"}
	}
	return why
}

// areLoopback reports whether only this machine can reach the listeners.
func (l listeners) areLoopback() bool {
	for _, one := range l {
		addr, ok := one.Addr().(*net.TCPAddr)
		if !ok || !addr.IP.IsLoopback() {
			return false
		}
	}
	return true
}

// shellEnvironment returns an environment without the portal's settings, which contain its token, and without the keys of providers.
func (c *Config) shellEnvironment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "PORTAL_") || slices.ContainsFunc(c.Providers, func(p Provider) bool { return p.APIKeyEnv == name })
	})
}

// examineTerminal says who can open a terminal.
func examineTerminal(c Config) Finding {
	if c.wantsToken() || c.Token != "" {
		return okFinding("on; whoever has the token gets a shell as this user")
	}
	return okFinding("on; whoever can connect from this machine gets a shell as this user, also other users: set a token to keep them out")
}
