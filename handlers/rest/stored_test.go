package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/rest"
)

// durable is an api whose sessions are stored. What its agents have
// saved survives a restart, too.
type durable struct {
	*api
	options   copilot.Options
	directory string
	store     *store.Store
	host      *copilot.Host
	rest      *rest.API
	end       func()
}

// stored runs a test in virtual time, with a store on disk.
func stored(t *testing.T, o copilot.Options, test func(*durable)) {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	directory := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		defer agents.Close()
		d := &durable{api: &api{T: t, agents: agents}, options: o, directory: directory}
		d.open()
		defer func() { d.end() }()
		test(d)
	})
}

// open starts a portal on the directory.
func (d *durable) open() {
	d.Helper()
	s, err := store.Open(d.Context(), store.Options{Directory: d.directory})
	require.NoError(d, err)
	d.store = s
	o := d.options
	o.Store = s
	host := d.agents.NewHost(o)
	d.host = host
	r := gin.New()
	work := newJobs(d.T, host, s)
	d.rest = rest.New(rest.Options{Host: host, Policy: permission.Everywhere(permission.Allow), WorkDir: "/", Stop: func() {}, Jobs: work})
	d.rest.Routes(r)
	d.handler = r
	d.end = func() {
		work.Close(d.Context())
		host.Close(d.Context())
		require.NoError(d, s.Close())
	}
}

// restart stops the portal and starts it again.
func (d *durable) restart() {
	d.Helper()
	d.end()
	d.open()
}

// kill ends the portal abruptly and starts it again.
func (d *durable) kill() {
	d.Helper()
	require.NoError(d, d.store.Kill())
	d.agents.Kill()
	d.end()
	d.open()
}

// beside returns a second portal on the same directory, until the test ends.
func (d *durable) beside() *durable {
	d.Helper()
	other := &durable{api: &api{T: d.T, agents: d.agents}, options: d.options, directory: d.directory}
	other.open()
	d.Cleanup(other.end)
	return other
}

// settle waits until everything is stored.
func (d *durable) settle() {
	time.Sleep(time.Second) // virtual
	synctest.Wait()
}

// status returns the status and the error of a call.
func (a *api) status(method, path, body string) (code int, fault string) {
	a.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.Context(), method, path, strings.NewReader(body)))
	checkContract(a, method, path, body, w)
	var d document
	require.NoError(a, json.Unmarshal(w.Body.Bytes(), &d), w.Body.String())
	fault, _ = d["error"].(string)
	return w.Code, fault
}

// echoed returns a session with prompts that nobody has read.
func (d *durable) echoed(prompts ...string) (session string) {
	d.Helper()
	session = d.start("")
	for _, p := range prompts {
		require.Empty(d, d.call(http.MethodPost, session+"/query", p))
		synctest.Wait()
	}
	return session
}

// raw is a call whose answer is not JSON.
func (a *api) raw(method, path string) (code int, text string) {
	a.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequestWithContext(a.Context(), method, path, nil))
	checkContract(a, method, path, "", w)
	return w.Code, w.Body.String()
}
