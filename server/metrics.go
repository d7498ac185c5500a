package server

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/copilot-portal/portal/handlers/mcp"
	"github.com/copilot-portal/portal/handlers/rest"
	"github.com/copilot-portal/portal/handlers/rpc"
	"github.com/copilot-portal/portal/handlers/terminal"
)

// metrics serves GET /metrics from a registry of its own. Sessions count their own events, and [collector]
// reads those counters on demand; only HTTP requests are counted here.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	serve    gin.HandlerFunc
	base     string
	polls    []string // routes that wait on purpose
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portal_http_requests_total", Help: "HTTP requests answered, including refused ones.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "portal_http_request_duration_seconds", Buckets: []float64{.001, .005, .025, .1, .5, 1, 2.5, 5, 10, 30},
			Help: "Duration of HTTP requests, except long polls and streams, which wait on purpose.",
		}, []string{"route", "method", "status"}),
		base: s.config.BasePath,
	}
	for _, route := range rest.Polls() {
		m.polls = append(m.polls, "/api"+route)
	}
	m.polls = append(m.polls, rpc.Streams()...)
	m.polls = append(m.polls, terminal.Streams()...)
	m.polls = append(m.polls, mcp.Streams()...)
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.duration, collector{s},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	m.serve = func(c *gin.Context) {
		c.Header("Cache-Control", "no-store")
		handler.ServeHTTP(c.Writer, c.Request)
	}
	return m
}

// count counts a request after its response. Its labels have few values, whatever clients send.
func (m *metrics) count(c *gin.Context) {
	begin := time.Now()
	defer func() { // runs even if the connection is aborted
		route := m.route(c)
		labels := []string{route, method(c.Request.Method), strconv.Itoa(statusOf(c))}
		m.requests.WithLabelValues(labels...).Inc()
		if !slices.Contains(m.polls, route) && !c.IsWebsocket() {
			m.duration.WithLabelValues(labels...).Observe(time.Since(begin).Seconds())
		}
	}()
	c.Next()
}

// statusOf returns the status of the response. Gin reports an upgrade as 200.
func statusOf(c *gin.Context) int {
	if connection := connOf(c.Request.Context()); connection != nil && connection.upgraded.Load() {
		return http.StatusSwitchingProtocols
	}
	return c.Writer.Status()
}

// route returns the pattern of the route without the base path. Files of the page, unknown paths and refused
// requests of either have none.
func (m *metrics) route(c *gin.Context) string {
	if pattern := c.FullPath(); pattern != "" {
		return pattern[len(m.base):]
	}
	if c.Writer.Status() >= http.StatusBadRequest {
		return "none"
	}
	return "page"
}

func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "other"
}
