package bridge_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/bridge"
)

func TestFailedUpgradeIsExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		status   int
		location string
		body     string
		want     string
	}{
		"no token":                {401, "", `{"error":"a token is needed"}`, "requires its token: give it with --token or PORTAL_TOKEN"},
		"another host":            {403, "", `{"error":"this host name is not served here"}`, `refused the connection: "this host name is not served here"`},
		"a 403 of another server": {403, "", "Forbidden", "is not a portal"},
		"another path":            {404, "", `{"error":"the portal is served below /p/"}`, `does not serve this ("the portal is served below /p/")`},
		"another program":         {404, "", "404 page not found", `is not a portal (it answered "404 Not Found")`},
		"too many wrong tokens":   {429, "", `{"error":"too many wrong tokens"}`, `refused the connection: "too many wrong tokens"`},
		"another refusal":         {409, "", `{"error":"this has happened"}`, `refused the connection: "this has happened"`},
		"another server's fault":  {500, "", "Internal Server Error", "is not a portal"},
		"it stops":                {503, "", `{"error":"the portal is stopping"}`, `is not ready: "the portal is stopping"`},
		"a redirect":              {301, "https://example.org/", "", `redirects: use the address "https://example.org/"`},
		"a page":                  {200, "", "<html>", "is not a portal"},
		"a truncated answer":      {403, "", `{"error":`, "is not a portal"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.location != "" {
					w.Header().Set("Location", tc.location)
				}
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer s.Close()
			err := cross(t, t.Context(), bridge.Options{Address: s.URL + "/?token=secret"}).end()
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, s.URL)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestRefusedConnectionIsReported(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	err = cross(t, t.Context(), bridge.Options{Address: l.Addr().String()}).end()
	require.ErrorContains(t, err, "nothing listens at http://"+l.Addr().String()+": start the portal with: portal")
}

func TestUnknownHostIsReported(t *testing.T) {
	err := cross(t, t.Context(), bridge.Options{Address: "http://nowhere.invalid"}).end()
	require.ErrorContains(t, err, "nowhere.invalid")
}

func TestSilentPortalTimesOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	t.Run("until the time limit", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.ErrorContains(t, cross(t, ctx, bridge.Options{Address: l.Addr().String()}).end(), "did not answer within")
	})
	t.Run("until it is cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := cross(t, ctx, bridge.Options{Address: l.Addr().String()})
		_, err := l.Accept()
		require.NoError(t, err)
		cancel()
		require.NoError(t, c.end())
	})
}
