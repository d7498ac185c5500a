package sandbox_test

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
)

func TestHostsAreParsedWithAndWithoutPort(t *testing.T) {
	for text, want := range map[string]string{
		"packages.example.org": "packages.example.org:443", "Example.ORG:8443": "example.org:8443", "*.example.org": "*.example.org:443",
		"*.example.org:80": "*.example.org:80", "10.0.0.1": "10.0.0.1:443", "::1": "[::1]:443", "[::1]:80": "[::1]:80", "localhost:11434": "localhost:11434",
	} {
		host, err := sandbox.ParseHost(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, host)
	}
	for _, text := range []string{"", "*", "*.", "*:443", "a*.b", "*.*.b", "https://a", "a/b", "a b", "a:0", "a:65536", "a:+1", "a:x", "a,b", "@a", ".a", "a.", "*.10.0.0.1:x"} {
		_, err := sandbox.ParseHost(text)
		assert.ErrorContains(t, err, "is not a host such as", text)
	}
}

func TestHostHasPortOfItsScheme(t *testing.T) {
	for address, want := range map[string]string{
		"https://models.example/v1": "models.example:443", "http://ollama.lan/v1": "ollama.lan:80", "http://localhost:11434": "localhost:11434", "http://[::1]:1/": "[::1]:1",
	} {
		host, err := sandbox.HostOf(address)
		require.NoError(t, err)
		assert.Equal(t, want, host)
	}
}

func FuzzParseHost(f *testing.F) {
	for _, text := range []string{"a", "*.a.b:1", "::1", "[::1]:443", "a:b:c", "*", "ａ.b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, err := sandbox.ParseHost(text)
		if err != nil {
			return
		}
		again, err := sandbox.ParseHost(host)
		require.NoError(t, err)
		assert.Equal(t, host, again)
		name, port, err := net.SplitHostPort(host)
		require.NoError(t, err)
		assert.NotEmpty(t, port)
		assert.False(t, strings.ContainsAny(name, ",/@# "), name)
	})
}
