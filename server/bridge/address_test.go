package bridge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/bridge"
)

func TestAddressFormats(t *testing.T) {
	for address, want := range map[string]struct{ url, shown, token string }{
		"http://localhost:8888":                       {"ws://localhost:8888/ui", "http://localhost:8888", ""},
		"http://localhost:8888/":                      {"ws://localhost:8888/ui", "http://localhost:8888", ""},
		" http://localhost:8888/\n":                   {"ws://localhost:8888/ui", "http://localhost:8888", ""},
		"localhost:8888":                              {"ws://localhost:8888/ui", "http://localhost:8888", ""},
		"127.0.0.1:9":                                 {"ws://127.0.0.1:9/ui", "http://127.0.0.1:9", ""},
		"[::1]:9":                                     {"ws://[::1]:9/ui", "http://[::1]:9", ""},
		"8888":                                        {"ws://localhost:8888/ui", "http://localhost:8888", ""},
		"ws://localhost:8888/ui":                      {"ws://localhost:8888/ui", "http://localhost:8888", ""},
		"wss://example.org":                           {"wss://example.org/ui", "https://example.org", ""},
		"https://example.org/portal":                  {"wss://example.org/portal/ui", "https://example.org/portal", ""},
		"https://example.org/portal/":                 {"wss://example.org/portal/ui", "https://example.org/portal", ""},
		"https://example.org/portal//":                {"wss://example.org/portal/ui", "https://example.org/portal", ""},
		"https://example.org/ui/":                     {"wss://example.org/ui/ui", "https://example.org/ui", ""},
		"http://localhost:8888/?token=a%2Bb":          {"ws://localhost:8888/ui", "http://localhost:8888", "a+b"},
		"http://localhost:8888/p/?token=secret&x=1#y": {"ws://localhost:8888/p/ui", "http://localhost:8888/p", "secret"},
	} {
		url, shown, token, err := bridge.Connection(address, "")
		require.NoError(t, err, address)
		assert.Equal(t, want, struct{ url, shown, token string }{url, shown, token}, address)
	}
}

func TestAddressContainsTheDirectory(t *testing.T) {
	url, _, _, err := bridge.Connection("8888", "/tmp/a b&c")
	require.NoError(t, err)
	assert.Equal(t, "ws://localhost:8888/ui?cwd=%2Ftmp%2Fa+b%26c", url)
}

func TestInvalidAddressIsReported(t *testing.T) {
	for address, part := range map[string]string{
		"":                                   "is not the address",
		"http://":                            "is not the address",
		"http://:8888":                       "is not the address",
		"ftp://localhost":                    "is not the address",
		"http://a b":                         "is not valid",
		"http://localhost:port":              "is not valid",
		"http://someone:secret@localhost:80": "must not contain a user",
	} {
		_, _, _, err := bridge.Connection(address, "")
		require.ErrorContains(t, err, part, address)
		assert.NotContains(t, err.Error(), "secret")
	}
}
