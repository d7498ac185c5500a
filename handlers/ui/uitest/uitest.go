// Package uitest drives handlers/ui and handlers/page in tests: the dialect over scripted
// agents, and UIs that are connected to it in memory.
package uitest

import (
	"testing"
	"testing/synctest"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/handlers/page"
	"github.com/copilot-portal/portal/handlers/ui"
)

// Document is a JSON object.
type Document = map[string]any

// Portal is the dialect over scripted agents.
type Portal struct {
	*testing.T
	Agents *fake.Agents
	Host   *copilot.Host
	UI     *ui.API
}

// Options of a [Portal]. Hosts, directory and version are filled in.
type Options struct {
	Host copilot.Options
	UI   ui.Options
	Page page.Options
}

// New returns a portal. The caller closes its agents and its host.
func New(t *testing.T, o Options) *Portal {
	t.Helper()
	p := &Portal{T: t, Agents: fake.New()}
	p.Host = p.Agents.NewHost(o.Host)
	p.Serve(o)
	return p
}

// Serve makes the dialect anew for UIs that connect from then on.
func (p *Portal) Serve(o Options) {
	o.Page.Host, o.Page.Version = p.Host, "1"
	if o.Page.About.Configuration.Directory == "" {
		o.Page.About.Configuration.Directory = "/"
	}
	o.UI.Host, o.UI.WorkDir, o.UI.Version, o.UI.Extra = p.Host, "/", "1", page.New(o.Page).Methods
	p.UI = ui.New(o.UI)
}

// InTime runs a test with a portal in virtual time.
func InTime(t *testing.T, o Options, test func(*Portal)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := New(t, o)
		defer p.Agents.Close()
		defer p.Host.Close(t.Context())
		test(p)
	})
}

// Begun starts a session that no UI is attached to.
func (p *Portal) Begun() *copilot.Session {
	p.Helper()
	s, err := p.Host.Start(p.Context(), copilot.Start{Origin: "rest", Directory: "/", WithoutAgent: true})
	if err != nil {
		p.Fatal(err)
	}
	return s
}
