package sdk

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Locate says where to look for the CLI, in this order.
type Locate struct {
	Configured  string // flag or configuration; if set, nothing else is tried
	Environment string // COPILOT_CLI_PATH; if set and not a portal (see [IsPortal]), nothing else is tried
	Beside      string // directory of our own executable
	// then "copilot" on PATH
}

// find returns the path of the CLI's executable.
func (l Locate) find() (string, error) {
	for _, given := range []struct{ by, path string }{
		{"--copilot-path or copilot_path", l.Configured}, {"COPILOT_CLI_PATH", l.Environment},
	} {
		if given.path == "" {
			continue
		}
		path, err := exec.LookPath(given.path)
		if err != nil {
			return "", fmt.Errorf("%s names %s: %w", given.by, given.path, reason(err))
		}
		if IsPortal(path) {
			return "", fmt.Errorf("%s names %s, which is a portal, not the Copilot CLI", given.by, given.path)
		}
		return native(path), nil
	}
	if l.Beside != "" {
		if path, err := exec.LookPath(filepath.Join(l.Beside, "copilot")); err == nil && !IsPortal(path) {
			return native(path), nil
		}
	}
	path, err := exec.LookPath("copilot")
	switch {
	case err == nil && IsPortal(path):
		return "", fmt.Errorf("%s is a portal, not the Copilot CLI", path)
	case err == nil:
		return native(path), nil
	case l.Beside == "":
		return "", errors.New("it is not on PATH")
	}
	return "", fmt.Errorf("it is neither in %s nor on PATH", l.Beside)
}

// reason returns an error without the paths around it.
func reason(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

// native finds the executable behind npm's loader script, which would start it as a child and leave it behind
// when killed.
func native(path string) string {
	script, err := filepath.EvalSymlinks(path)
	if err != nil || filepath.Base(script) != "npm-loader.js" {
		return path
	}
	dir := filepath.Dir(script)
	for _, packages := range []string{filepath.Dir(dir), filepath.Join(dir, "node_modules", "@github")} {
		for _, name := range []string{platform(), strings.Replace(platform(), "linux-", "linuxmusl-", 1)} {
			if found, err := exec.LookPath(filepath.Join(packages, "copilot-"+name, "copilot")); err == nil {
				return found
			}
		}
	}
	return path
}

// platform returns npm's name of this platform.
func platform() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	system := map[string]string{"windows": "win32"}[runtime.GOOS]
	if system == "" {
		system = runtime.GOOS
	}
	return system + "-" + arch
}
