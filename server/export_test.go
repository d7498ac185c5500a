package server

import (
	"context"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Handler is what the portal answers with on a port, without listening there.
func (s *Server) Handler(port int) http.Handler {
	s.guard = newGuard(s.config, port)
	return s.routes()
}

// RoutesOf lists the route table of a [Server.Handler].
func RoutesOf(h http.Handler) gin.RoutesInfo {
	e, _ := h.(*gin.Engine)
	return e.Routes()
}

// Recovered is a handler behind the portal's log and recovery.
func (s *Server) Recovered(h gin.HandlerFunc) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(s.logged, s.recovered)
	r.GET("/", h)
	return r
}

// Listen opens host:port.
func Listen(ctx context.Context, host string, port int) ([]net.Listener, error) {
	return listen(ctx, host, port)
}

// Stopping is closed when a client has asked the portal to stop.
func (s *Server) Stopping() <-chan struct{} { return s.stop }
