package server

import (
	"context"
	"net/http"
)

// askOwn sends a request to what listens on the configured port of this machine. It sends the token only to a server that asks for
// one. The caller must close the body.
func (c *Config) askOwn(ctx context.Context, method, path string) (*http.Response, error) {
	resp, err := c.sendOwn(ctx, method, path, "")
	if err != nil || resp.StatusCode != http.StatusUnauthorized || c.Token == "" {
		return resp, err
	}
	_ = resp.Body.Close() // the next response counts
	return c.sendOwn(ctx, method, path, c.Token)
}

// sendOwn sends a request with a token; "": none. It does not follow redirects, which could lead the token elsewhere.
func (c *Config) sendOwn(ctx context.Context, method, path, token string) (*http.Response, error) {
	u := c.ownURL(c.Port, path)
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{
		Transport:     c.TLS.ownTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return client.Do(req)
}
