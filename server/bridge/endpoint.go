package bridge

import (
	"cmp"
	"context"
	"net"
	"net/http"
)

// Endpoint is a portal's HTTP route, for clients of a dialect without a WebSocket. It is safe for concurrent use.
type Endpoint struct {
	URL       string
	Token     string            // "" if there is none
	Transport http.RoundTripper // gives up as early as a bridge

	to target
}

// NewEndpoint returns the route that o names; its streams are not used.
func NewEndpoint(o Options) (*Endpoint, error) {
	to, err := parse(o.Address, o.Path)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: silence, ForceAttemptHTTP2: true,
	}
	return &Endpoint{to.String() + "/" + o.Path, cmp.Or(o.Token, to.token, o.DefaultToken), transport, to}, nil
}

// Explain says why a request failed, and what to do. resp is the response, or nil if there is none; err is used only then.
func (e *Endpoint) Explain(ctx context.Context, resp *http.Response, err error) error {
	return explain(ctx, e.to, resp, err)
}
