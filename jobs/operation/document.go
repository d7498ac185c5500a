package operation

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs/operation/report"
)

// maxText is the maximum size of a document or prompt, in bytes.
const maxText = 1 << 20

var feature = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// prepare validates a request, reads its document and returns the prompt for the agent.
func (r *Request) prepare() (string, error) {
	if !slices.Contains(report.Types(), r.Type) {
		return "", fault.Errorf(fault.Invalid, "unknown type of operation: use clarify, analyze, plan or prompt")
	}
	if r.Feature != "" && !feature.MatchString(r.Feature) {
		return "", fault.Errorf(fault.Invalid, "the feature is not a valid name: use up to 100 letters, digits, dots, _ and -, with a letter or digit first")
	}
	if err := copilot.CheckDirectory(r.Directory); err != nil {
		return "", err
	}
	if err := r.Persist.check(r.Directory); err != nil {
		return "", err
	}
	name, err := r.load()
	if err != nil {
		return "", err
	}
	for what, text := range map[string]string{"document": r.Document, "prompt": r.Prompt} {
		if len(text) > maxText || !utf8.ValidString(text) {
			return "", fault.Errorf(fault.Invalid, "the %s must be UTF-8 text of at most %d bytes", what, maxText)
		}
	}
	return report.Prompt(r.Type, report.Input{Document: r.Document, Name: name, Prompt: r.Prompt})
}

// load reads the document unless the request contains it, and returns its name.
func (r *Request) load() (name string, err error) {
	path := r.Path
	switch {
	case r.Document != "":
		return path, nil
	case path != "":
	case r.Feature == "" || r.Type == Prompt:
		return "", nil
	default:
		path = filepath.Join("specs", r.Feature, "spec.md")
		if r.Type == Analyze {
			path = filepath.Join("specs", r.Feature, "tasks.md")
		}
	}
	r.Document, err = read(r.Directory, path)
	return path, err
}

// read reads a file below a directory. It follows links.
func read(directory, path string) (string, error) {
	location, err := resolve(directory, path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", noFile()
	}
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return "", fault.ErrDirectoryNotFound
	}
	defer root.Close() //nolint:errcheck // read-only
	info, err := root.Stat(location)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", noFile()
	case err != nil || !info.Mode().IsRegular():
		return "", fault.Errorf(fault.Invalid, "the path is not that of a regular file")
	}
	f, err := root.Open(location)
	if err != nil {
		return "", fault.Errorf(fault.Invalid, "the file cannot be read")
	}
	defer f.Close() //nolint:errcheck // read-only
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil {
		return "", fault.Errorf(fault.Invalid, "the file cannot be read")
	}
	return string(text), nil
}

// noFile returns an error that does not name the file, so as not to reflect what a client sent.
func noFile() error {
	return fault.Errorf(fault.NotFound, "no such file in the working directory: give the document, or the path of an existing one")
}

// resolve returns the location of a path below a directory, with links followed. The path need not exist.
// Errors: kind [fault.Invalid].
func resolve(directory, path string) (location string, err error) {
	outside := fault.Errorf(fault.Invalid, "the path must be that of a file below the working directory")
	if path == "" || strings.ContainsRune(path, 0) {
		return "", outside
	}
	base, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return "", fault.ErrDirectoryNotFound
	}
	if !filepath.IsAbs(path) {
		if !filepath.IsLocal(path) {
			return "", outside
		}
		path = filepath.Join(base, path)
	}
	found, err := followLinks(filepath.Clean(path))
	if err != nil {
		return "", outside
	}
	location, err = filepath.Rel(base, found)
	if err != nil || !filepath.IsLocal(location) || location == "." || isOfGit(found) {
		return "", outside
	}
	return location, nil
}

// followLinks resolves the links in the existing part of a path.
func followLinks(path string) (string, error) {
	found, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fs.ErrInvalid // a dangling link
	}
	parent, err := followLinks(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}

// isOfGit reports whether a path leads into git's own directory: settings there can run commands.
func isOfGit(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		part, _, _ = strings.Cut(part, ":") // NTFS ignores the rest, and trailing dots and spaces
		part = strings.TrimRight(part, ". ")
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}
