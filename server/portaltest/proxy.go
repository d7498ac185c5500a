package portaltest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// BehindProxy starts a reverse proxy that passes requests below base unchanged, including Host, as nginx or
// Caddy do. Other paths belong to another site. It returns the address of the proxy.
func (p *Portal) BehindProxy(base string) string {
	p.t.Helper()
	target, err := url.Parse(p.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != base && !strings.HasPrefix(r.URL.Path, base+"/") {
			http.Error(w, "this is another site", http.StatusTeapot)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	p.t.Cleanup(s.Close)
	return s.URL
}

// Proxy starts a proxy to the portal, which can interrupt connections.
func (p *Portal) Proxy() *clustertest.Proxy {
	p.t.Helper()
	return Balance(p.t, "localhost:"+p.Port)
}
