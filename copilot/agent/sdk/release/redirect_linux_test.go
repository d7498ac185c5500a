package release_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk/release"
)

// The checksum comes from the same place as the program. Whoever can change plain HTTP on the way could change both.
func TestDownloadIsNotRedirectedToPlainHTTP(t *testing.T) {
	plain := serve(t, map[string]string{"copilot": "evil"}, nil)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain.URL+r.URL.Path, http.StatusFound)
	}))
	defer secure.Close()
	trusted := filepath.Join(t.TempDir(), "roots.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	require.NoError(t, os.WriteFile(trusted, certificate, 0o600))
	t.Setenv("SSL_CERT_FILE", trusted) // read once, by the first connection of the test program

	dir := t.TempDir()
	require.ErrorContains(t, release.Source{Base: secure.URL}.Install(t.Context(), dir), "redirects to plain HTTP")
	assert.NoFileExists(t, release.Path(dir))
	assert.NoError(t, release.Source{Base: plain.URL}.Install(t.Context(), dir), "control: the release can be installed")
}
