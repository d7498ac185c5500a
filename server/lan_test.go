package server_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

func TestLANListensOnAllAddressesWithAToken(t *testing.T) {
	c, err := load(t, "lan: true\n", nil)
	require.NoError(t, err)
	assert.Empty(t, c.Host)
	_, err = load(t, "lan: true\nhost: 192.168.0.1\n", nil)
	require.ErrorContains(t, err, "lan: it listens on all addresses of this machine; also remove host: 192.168.0.1")

	s := inside(t, func(own *server.Config) { own.LAN, own.Host = true, c.Host })
	require.NoError(t, s.Listen(t.Context()))
	defer s.StopListening()
	for _, text := range s.LANURLs(t.Context()) { // none without a network
		u, err := url.Parse(text)
		require.NoError(t, err)
		addr, err := netip.ParseAddr(u.Hostname())
		require.NoError(t, err)
		assert.True(t, addr.IsGlobalUnicast())
		assert.NotEmpty(t, u.Query().Get("token"))
		assert.Equal(t, "http", u.Scheme)
	}
	assert.False(t, s.HasConfiguredToken())
	assert.False(t, s.IsEncrypted())
	assert.Equal(t, http.StatusUnauthorized, ask(s.Handler(s.Port()), "GET", "/").Code, "also on this machine")
}

func TestLANAddressesNeverContainAConfiguredToken(t *testing.T) {
	files := tlsFiles(t)
	certify(t, files, 1, time.Now().Add(time.Hour))
	s := inside(t, func(c *server.Config) {
		c.LAN, c.Host, c.Token, c.TLS, c.AllowedHosts, c.BasePath = true, "", "heron", files, []string{"heron.example"}, "/portal"
	})
	require.NoError(t, s.Listen(t.Context()))
	defer s.StopListening()
	require.Len(t, s.LANURLs(t.Context()), 1)
	assert.Regexp(t, `^https://heron\.example:\d+/portal/$`, s.LANURLs(t.Context())[0])
	assert.True(t, s.HasConfiguredToken())
	assert.True(t, s.IsEncrypted())
}
