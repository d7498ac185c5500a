package server_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/agent/sdk/release"
	"github.com/copilot-portal/portal/server/portaltest"
)

// mirror serves the Copilot CLI of this checkout as a release.
func mirror(t *testing.T) string {
	t.Helper()
	path, err := sdk.New(sdk.Options{Locate: sdk.Locate{Beside: filepath.Dir(portaltest.Binary(t))}}).Path()
	require.NoError(t, err)
	program, err := os.Open(path)
	require.NoError(t, err)
	defer program.Close()
	info, err := program.Stat()
	require.NoError(t, err)
	archive, err := os.Create(filepath.Join(t.TempDir(), "archive"))
	require.NoError(t, err)
	defer archive.Close()
	sum := sha256.New()
	compressed, err := gzip.NewWriterLevel(io.MultiWriter(archive, sum), gzip.NoCompression)
	require.NoError(t, err)
	files := tar.NewWriter(compressed)
	require.NoError(t, files.WriteHeader(&tar.Header{Name: "copilot", Typeflag: tar.TypeReg, Mode: 0o755, Size: info.Size()}))
	_, err = io.Copy(files, program)
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, compressed.Close())

	name := "copilot-" + release.Platform() + ".tar.gz"
	routes := http.NewServeMux()
	routes.HandleFunc("GET /v"+release.Version+"/"+name, func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, archive.Name())
	})
	routes.HandleFunc("GET /v"+release.Version+"/SHA256SUMS.txt", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "%x  %s\n", sum.Sum(nil), name)
	})
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	return server.URL
}

func TestSetupInstallsTheCLIOfAPortalWithout(t *testing.T) {
	t.Parallel()
	alone := copied(t, "portal")
	home := t.TempDir()
	env := append(portaltest.Environ(home), "PATH=/usr/bin:/bin")
	setup := func(more ...string) (string, error) {
		c := exec.CommandContext(t.Context(), alone, "setup")
		c.Env = append(env, more...)
		out, err := c.CombinedOutput()
		return string(out), err
	}

	missing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(missing.Close)
	text, err := setup("COPILOT_CLI_DOWNLOAD_BASE_URL=" + missing.URL)
	require.Error(t, err)
	assert.Contains(t, text, "cannot get the Copilot CLI: "+missing.URL+"/v"+release.Version+"/SHA256SUMS.txt: 404 Not Found")

	text, err = setup("COPILOT_CLI_DOWNLOAD_BASE_URL=" + mirror(t))
	require.NoError(t, err, text)
	assert.Contains(t, text, "100 % of")
	path := release.Path(filepath.Join(home, "copilot-portal"))
	assert.Contains(t, text, path+" login")

	text, err = setup()
	require.NoError(t, err, text)
	assert.Contains(t, text, "is already at "+path)

	p := portaltest.Start(t, portaltest.Options{Binary: alone, Home: home, Args: []string{"--demo"}, Env: []string{"PATH=/usr/bin:/bin"}})
	p.Run(p.StartSession(t.TempDir(), ""), "say `heron`")
	agents := p.Agents()
	require.NotEmpty(t, agents)
	assert.Contains(t, agents[0].Command, path)
}

func TestSetupDoesNotShowThePasswordOfAMirror(t *testing.T) {
	t.Parallel()
	env := []string{"COPILOT_CLI_DOWNLOAD_BASE_URL=http://me:s3cret@127.0.0.1:1/cli"}
	code, stdout, stderr := command(t, env, "setup", "--help")
	assert.Zero(t, code, stderr)
	assert.NotContains(t, stdout+stderr, "s3cret")
	code, stdout, stderr = command(t, env, "setup")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "from http://…@127.0.0.1:1/cli")
	assert.NotContains(t, stdout+stderr, "s3cret")
}
