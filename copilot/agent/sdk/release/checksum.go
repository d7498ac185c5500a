package release

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
)

// checksumsFile contains the SHA-256 of each file of a release, one per line, in the format of sha256sum.
const checksumsFile = "SHA256SUMS.txt"

// maxChecksums is the size in bytes that a list of checksums may have.
const maxChecksums = 1 << 20

// checksum returns the SHA-256 that the release names for a file.
func (s Source) checksum(ctx context.Context, name string) (string, error) {
	response, err := s.get(ctx, checksumsFile)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	sum, err := findChecksum(io.LimitReader(response.Body, maxChecksums), name)
	if err != nil {
		return "", fmt.Errorf("%s of version %s: %w", checksumsFile, Version, err)
	}
	return sum, nil
}

func findChecksum(r io.Reader, name string) (string, error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && strings.TrimPrefix(fields[1], "*") == name {
			return strings.ToLower(fields[0]), nil
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	return "", errors.New("there is no " + name)
}

// Platform returns what releases and npm packages of the CLI call this platform.
func Platform() string {
	arch := cmp.Or(map[string]string{"amd64": "x64"}[runtime.GOARCH], runtime.GOARCH)
	system := cmp.Or(map[string]string{"windows": "win32"}[runtime.GOOS], runtime.GOOS)
	return system + "-" + arch
}

// archiveEnding returns how the name of an archive for this platform ends.
func archiveEnding() string {
	if runtime.GOOS == "windows" {
		return ".zip"
	}
	return ".tar.gz"
}
