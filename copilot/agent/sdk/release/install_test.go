package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk/release"
)

// release serves a release of the CLI whose archive contains the given files.
func serve(t *testing.T, files map[string]string, change func(archive []byte, name string) map[string]string) *httptest.Server {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("releases for Windows are zip files")
	}
	name := "copilot-" + release.Platform() + ".tar.gz"
	archive := pack(t, files)
	served := map[string]string{name: string(archive), "SHA256SUMS.txt": fmt.Sprintf("%064d  other.zip\n%x  %s\n", 0, sha256.Sum256(archive), name)}
	if change != nil {
		for file, content := range change(archive, name) {
			served[file] = content
		}
	}
	server := httptest.NewServer(http.StripPrefix("/v"+release.Version+"/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := served[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(content))
	})))
	t.Cleanup(server.Close)
	return server
}

func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	for name, content := range files {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}))
		_, err := archive.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, compressed.Close())
	return buffer.Bytes()
}

// leftovers returns the names of all files in a data directory.
func leftovers(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

func TestCLIIsInstalledFromItsRelease(t *testing.T) {
	t.Parallel()
	server := serve(t, map[string]string{"LICENSE.md": "licence", "./copilot": "#!/bin/sh\n"}, nil)
	dir := t.TempDir()
	var last, size int64
	source := release.Source{Base: server.URL + "/", Progress: func(received, total int64) { last, size = received, total }}
	require.NoError(t, source.Install(t.Context(), dir))
	assert.Equal(t, []string{release.Path(dir)}, leftovers(t, dir))
	info, err := os.Stat(release.Path(dir))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	assert.Positive(t, last)
	assert.Equal(t, size, last)
	assert.NoError(t, source.Install(t.Context(), dir), "again")
}

func TestFailedDownloadKeepsTheInstalledCLI(t *testing.T) {
	t.Parallel()
	files := map[string]string{"copilot": "new"}
	for name, tc := range map[string]struct {
		files  map[string]string
		change func([]byte, string) map[string]string
		want   string
	}{
		"the archive was changed": {files, func(archive []byte, name string) map[string]string {
			return map[string]string{name: string(archive) + "x"}
		}, "the checksum of the download is wrong"},
		"the release has no archive for this platform": {files, func([]byte, string) map[string]string {
			return map[string]string{"SHA256SUMS.txt": "0  copilot-plan9.tar.gz\n"}
		}, "there is no copilot-" + release.Platform()},
		"the archive is missing": {files, func(_ []byte, name string) map[string]string {
			return map[string]string{"SHA256SUMS.txt": "0  copilot-" + release.Platform() + ".tar.gz\n", name: ""}
		}, "the checksum of the download is wrong"},
		"the archive has no executable": {map[string]string{"bin/copilot": "new"}, nil, "it has no copilot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Dir(release.Path(dir)), 0o700))
			require.NoError(t, os.WriteFile(release.Path(dir), []byte("old"), 0o600))
			err := release.Source{Base: serve(t, tc.files, tc.change).URL}.Install(t.Context(), dir)
			require.ErrorContains(t, err, tc.want)
			assert.Equal(t, []string{release.Path(dir)}, leftovers(t, dir))
			content, err := os.ReadFile(release.Path(dir))
			require.NoError(t, err)
			assert.Equal(t, "old", string(content))
		})
	}
}

func TestArchiveWritesNothingButTheExecutable(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	for _, header := range []tar.Header{
		{Name: "../copilot", Typeflag: tar.TypeReg},
		{Name: outside, Typeflag: tar.TypeReg},
		{Name: "../../../../cli/outside", Typeflag: tar.TypeReg},
		{Name: "copilot", Typeflag: tar.TypeSymlink, Linkname: outside},
		{Name: "copilot", Typeflag: tar.TypeLink, Linkname: outside},
		{Name: "copilot", Typeflag: tar.TypeDir},
		{Name: "copilot", Typeflag: tar.TypeFifo},
	} {
		header.Mode = 0o755
		require.NoError(t, archive.WriteHeader(&header))
	}
	require.NoError(t, archive.Close())
	require.NoError(t, compressed.Close())
	server := serve(t, nil, func(_ []byte, name string) map[string]string {
		sum := fmt.Sprintf("%x  %s\n", sha256.Sum256(buffer.Bytes()), name)
		return map[string]string{name: buffer.String(), "SHA256SUMS.txt": sum}
	})
	dir := t.TempDir()
	require.ErrorContains(t, release.Source{Base: server.URL}.Install(t.Context(), dir), "it has no copilot")
	assert.Empty(t, leftovers(t, dir))
	assert.NoFileExists(t, outside)
}

func TestUnknownVersionIsReportedWithItsAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	err := release.Source{Base: server.URL}.Install(t.Context(), t.TempDir())
	assert.EqualError(t, err, server.URL+"/v"+release.Version+"/SHA256SUMS.txt: 404 Not Found")
}

func TestBuildGetsTheSameVersion(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "cli", "package.json"))
	require.NoError(t, err)
	var pinned struct{ Dependencies map[string]string }
	require.NoError(t, json.Unmarshal(text, &pinned))
	assert.Equal(t, release.Version, pinned.Dependencies["@github/copilot"])
}
