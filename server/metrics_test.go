package server_test

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

// scrape contains the metrics that Prometheus reads.
type scrape map[string]*dto.MetricFamily

func parse(tb testing.TB, text string) scrape {
	tb.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(tb, err, text)
	return families
}

func scrapeOf(tb testing.TB, p *portaltest.Portal) scrape {
	tb.Helper()
	status, text := p.Do("GET", "/metrics", "")
	require.Equal(tb, 200, status, text)
	return parse(tb, text)
}

// find returns the metric with a name and at least these labels, given as names and values in turn, or nil.
func (s scrape) find(name string, labels ...string) *dto.Metric {
	for _, m := range s[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		fits := true
		for i := 0; i+1 < len(labels); i += 2 {
			fits = fits && has[labels[i]] == labels[i+1]
		}
		if fits {
			return m
		}
	}
	return nil
}

// value returns the value of a gauge or counter, or -1 if it is missing.
func (s scrape) value(name string, labels ...string) int {
	m := s.find(name, labels...)
	switch {
	case m == nil:
		return -1
	case m.GetGauge() != nil:
		return int(m.GetGauge().GetValue())
	}
	return int(m.GetCounter().GetValue())
}

func TestMetricsCountSessions(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	before := scrapeOf(t, p)
	assert.Equal(t, 0, before.value("portal_agent_processes"))
	assert.Equal(t, 0, before.value("portal_sessions", "state", "idle"), "even if there is none")
	assert.Equal(t, 0, before.value("portal_runs_ended_total", "outcome", "failed"))

	id := p.StartSession(t.TempDir(), "")
	p.Run(id, "say `one`")
	p.Query(id, "run `sleep 600`")
	p.Query(id, "say `later`")
	p.Until(id, "onStartToolExecution")
	s := scrapeOf(t, p)
	assert.Equal(t, 1, s.value("portal_sessions", "state", "running"))
	assert.Equal(t, 1, s.value("portal_runs_running"))
	assert.Equal(t, 1, s.value("portal_runs_queued"))
	assert.Equal(t, 2, s.value("portal_runs_started_total"))
	assert.Equal(t, 1, s.value("portal_runs_ended_total", "outcome", "completed"))
	assert.Greater(t, s.value("portal_events_recorded_total"), 10)
	assert.Equal(t, 1, s.value("portal_readers_attached"))
	assert.NotZero(t, s.find("portal_reader_lag_events").GetHistogram().GetSampleCount())
	assert.Equal(t, 1, s.value("portal_agent_processes"))
	assert.Equal(t, 1, s.value("portal_agent_starts_total"))
	assert.Greater(t, s.value("portal_agent_resident_memory_bytes", "pid", strconv.Itoa(p.Agents()[0].PID)), 10<<20)
	assert.Greater(t, s.value("process_resident_memory_bytes"), 1<<20)
	assert.Positive(t, s.value("go_goroutines"))
	assert.Equal(t, 3, s.value("portal_http_requests_total", "route", "/api/copilot/session/:id/query", "method", "POST", "status", "200"))
	assert.Positive(t, s.value("portal_http_requests_total", "route", "/api/copilot/session/:id/live"))
	assert.NotNil(t, s.find("portal_http_request_duration_seconds", "route", "/api/copilot/session/:id/query"))
	assert.Nil(t, s.find("portal_http_request_duration_seconds", "route", "/api/copilot/session/:id/live"), "long polls are excluded")

	require.NoError(t, syscall.Kill(p.Agents()[0].PID, syscall.SIGKILL))
	p.Until(id, "onIdle")
	p.Until(id, "onIdle") // the waiting run, on another process
	s = scrapeOf(t, p)
	assert.Equal(t, 1, s.value("portal_runs_ended_total", "outcome", "failed"))
	assert.Equal(t, 1, s.value("portal_agent_unexpected_ends_total"))
	assert.Equal(t, 2, s.value("portal_agent_starts_total"))
	assert.Equal(t, 1, s.value("portal_agent_processes"))
	assert.Len(t, s["portal_agent_resident_memory_bytes"].GetMetric(), 1)
}

func TestMetricsDistinguishWaitingAndLaggingReaders(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.Run(id, "say `zero`")
	var s scrape
	for range 5 { // readers count as attached for 15 s, which may pass on a busy machine
		p.API("GET", "copilot/session/"+id+"/live/slow", "")
		p.Run(id, "say `one two three four five`") // with the other reader
		if s = scrapeOf(t, p); s.value("portal_readers_attached") == 2 {
			break
		}
	}
	assert.Equal(t, 2, s.value("portal_readers_attached"))
	assert.Greater(t, s.value("portal_reader_lag_max_events"), 5)
	p.Follow(id, "slow") // polls again and again
	require.Eventually(t, func() bool {
		s = scrapeOf(t, p)
		return s.value("portal_readers_waiting") == 1
	}, soon, tick)
	assert.LessOrEqual(t, s.value("portal_reader_lag_max_events"), 1, "the dialect may ignore the last event")
}

func TestMetricsRequireTheToken(t *testing.T) {
	h := guarded(t)
	assert.Equal(t, 401, ask(h, "GET", "/metrics").Code)
	assert.Equal(t, 200, ask(h, "GET", "/metrics", "Authorization", "Bearer "+token).Code)
	assert.Equal(t, 403, ask(h, "GET", "/metrics", "Host", "evil.example").Code)
}

func TestRequestLabelsHaveFewValues(t *testing.T) {
	h := inside(t, func(c *server.Config) { c.BasePath = "/base" }).Handler(8888)
	for _, r := range [][]string{
		{"GET", "/base/"},
		{"GET", "/base/app.js"},
		{"GET", "/base/nothing-1"},
		{"GET", "/base/nothing-2"},
		{"GET", "/elsewhere"},
		{"BREW", "/base/health"},
		{"GET", "/base/api/copilot/session/some-id/live"},
		{"GET", "/base/api/test", "Host", "evil.example"},
		{"GET", "/base/nothing-3", "Host", "evil.example"},
	} {
		ask(h, r[0], r[1], r[2:]...)
	}
	var w *httptest.ResponseRecorder
	for range 2 { // the second one reports the first
		w = ask(h, "GET", "/base/metrics", "Accept", "text/plain")
	}
	s := parse(t, w.Body.String())
	assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	for _, tc := range []struct {
		n                     int
		route, method, status string
	}{
		{2, "page", "GET", "200"},
		{3, "none", "GET", "404"},
		{1, "none", "other", "405"},
		{1, "none", "GET", "403"},
		{1, "/api/copilot/session/:id/live", "GET", "200"},
		{1, "/api/test", "GET", "403"},
		{1, "/metrics", "GET", "200"},
	} {
		assert.Equal(t, tc.n, s.value("portal_http_requests_total", "route", tc.route, "method", tc.method, "status", tc.status), "%+v", tc)
	}
	assert.Len(t, s["portal_http_requests_total"].GetMetric(), 7)
	assert.Equal(t, 1, s.value("portal_info", "version", "test"))
}
