// Package release downloads the Copilot CLI from its releases.
package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Version is the version of the Copilot CLI that the portal is built and tested with. cli/package.json, from which `make build` gets it,
// and the SDK in go.mod must match it.
const Version = "1.0.102"

// Address is the address of the CLI's releases.
const Address = "https://github.com/github/copilot-cli/releases/download"

// ErrChecksum means that a download is not the file that its release names.
var ErrChecksum = errors.New("the checksum of the download is wrong")

// Source says where to get the CLI.
type Source struct {
	// Base is the address of the releases, or of a mirror with the same layout: Base/v<version>/SHA256SUMS.txt, and the archives beside it.
	Base string
	// Progress, if set, is called on the caller's goroutine with the number of bytes received, and their total or -1 if the server does
	// not say it.
	Progress func(received, total int64)
}

// Path returns where [Source.Install] puts the CLI in a data directory of the portal.
func Path(dataDir string) string {
	return filepath.Join(dataDir, "cli", Version, executable())
}

func executable() string {
	if runtime.GOOS == "windows" {
		return "copilot.exe"
	}
	return "copilot"
}

// Install downloads the CLI for this platform, compares its checksum with that of the release, and puts it at [Path]. A file that is there is
// replaced only once all of this has succeeded. Errors: those of ctx, of the network, of the file system, and [ErrChecksum].
func (s Source) Install(ctx context.Context, dataDir string) error {
	name := "copilot-" + Platform() + archiveEnding()
	want, err := s.checksum(ctx, name)
	if err != nil {
		return err
	}
	target := Path(dataDir)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	archive, err := os.CreateTemp(filepath.Dir(target), "download-*")
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name()) //nolint:errcheck // of no use any more
	defer archive.Close()           //nolint:errcheck // only read, or of no use
	got, err := s.download(ctx, name, archive)
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("%w: %s has SHA-256 %s, its release says %s", ErrChecksum, name, got, want)
	}
	return extract(archive, target)
}

// download writes a file of the release to w and returns its SHA-256.
func (s Source) download(ctx context.Context, name string, w io.Writer) (string, error) {
	response, err := s.get(ctx, name)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	hash, total := sha256.New(), response.ContentLength
	received := &counter{report: func(n int64) {
		if s.Progress != nil {
			s.Progress(n, total)
		}
	}}
	if _, err := io.Copy(io.MultiWriter(w, hash, received), response.Body); err != nil {
		return "", fmt.Errorf("%s: the download broke off: %w", name, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// get requests a file of the release. The caller must close the body.
func (s Source) get(ctx context.Context, name string) (*http.Response, error) {
	address := fmt.Sprintf("%s/v%s/%s", strings.TrimRight(s.Base, "/"), Version, name)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{CheckRedirect: stayEncrypted, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 30 * time.Second, DisableKeepAlives: true,
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err // names the address
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s: %s", request.URL.Redacted(), response.Status)
	}
	return response, nil
}

// maxRedirects is how many redirects are followed, as by [http.Client].
const maxRedirects = 10

// stayEncrypted refuses redirects from HTTPS to HTTP: whoever can change a download on the way could change its checksum, too.
func stayEncrypted(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	case via[0].URL.Scheme == "https" && to.URL.Scheme != "https":
		return errors.New("it redirects to plain HTTP, which others can change on the way")
	}
	return nil
}

// counter counts the bytes that are written to it.
type counter struct {
	total  int64
	report func(total int64)
}

func (c *counter) Write(b []byte) (int, error) {
	c.total += int64(len(b))
	c.report(c.total)
	return len(b), nil
}
