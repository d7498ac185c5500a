package release

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// extract writes the executable of an archive to target, all of it or nothing.
func extract(archive *os.File, target string) error {
	content, err := openExecutable(archive)
	if err != nil {
		return fmt.Errorf("the archive of the Copilot CLI: %w", err)
	}
	defer content.Close() //nolint:errcheck // only read
	temporary, err := os.CreateTemp(filepath.Dir(target), "extract-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // fails once it is renamed
	_, err = io.Copy(temporary, content)
	if err == nil {
		err = temporary.Chmod(0o700)
	}
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), target)
}

// openExecutable finds the executable in the root of an archive.
func openExecutable(archive *os.File) (io.ReadCloser, error) {
	if strings.HasSuffix(archiveEnding(), "zip") {
		return fromZip(archive)
	}
	return fromTar(archive)
}

func fromTar(archive io.ReadSeeker) (io.ReadCloser, error) {
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	content, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	files := tar.NewReader(content)
	for {
		file, err := files.Next()
		if err == io.EOF {
			return nil, fmt.Errorf("it has no %s", executable())
		}
		if err != nil {
			return nil, err
		}
		if filepath.Clean(file.Name) == executable() && file.Typeflag == tar.TypeReg {
			return io.NopCloser(files), nil
		}
	}
}

func fromZip(archive *os.File) (io.ReadCloser, error) {
	size, err := archive.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	files, err := zip.NewReader(archive, size)
	if err != nil {
		return nil, err
	}
	content, err := files.Open(executable())
	if err != nil {
		return nil, fmt.Errorf("it has no %s", executable())
	}
	return content, nil
}
