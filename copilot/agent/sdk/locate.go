package sdk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent/sdk/release"
)

// Locate says where to look for the CLI, in this order.
type Locate struct {
	Configured  string // flag or configuration; if set, nothing else is tried
	Environment string // COPILOT_CLI_PATH; if set and not a portal (see [IsPortal]), nothing else is tried
	Beside      string // directory of our own executable
	DataDir     string // data directory of the portal, where `portal setup` puts the CLI
	// then "copilot" on PATH
}

// Path returns the current path of the CLI's executable.
func (d *Driver) Path() (string, error) { return d.options.Locate.find() }

// find returns the path of the CLI's executable.
func (l Locate) find() (string, error) {
	for _, given := range []struct{ by, path string }{
		{"--copilot-path or copilot_path", l.Configured}, {"COPILOT_CLI_PATH", l.Environment},
	} {
		if given.path != "" {
			return named(given.by, given.path)
		}
	}
	for _, place := range l.places() {
		if path, err := exec.LookPath(place); err == nil && !IsPortal(path) {
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

// loginCommand returns the command that signs in with this CLI, for a terminal.
func (l Locate) loginCommand() string {
	path, err := l.find()
	onPath, missing := exec.LookPath("copilot")
	if err != nil || missing == nil && native(onPath) == path {
		return "copilot login"
	}
	if strings.ContainsRune(path, ' ') {
		path = `"` + path + `"`
	}
	return path + " login"
}

// named returns the path of a CLI that the user named.
func named(by, name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s names %s: %w", by, name, reason(err))
	}
	if IsPortal(path) {
		return "", fmt.Errorf("%s names %s, which is a portal, not the Copilot CLI", by, name)
	}
	return native(path), nil
}

// places returns where to look for a CLI that belongs to this portal.
func (l Locate) places() (paths []string) {
	if l.Beside != "" {
		paths = append(paths, filepath.Join(l.Beside, "copilot"))
	}
	if l.DataDir != "" {
		paths = append(paths, release.Path(l.DataDir))
	}
	return paths
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
	script, err := filepath.EvalSymlinks(loaderOf(path))
	if err != nil || filepath.Base(script) != "npm-loader.js" {
		return path
	}
	dir := filepath.Dir(script)
	for _, packages := range []string{filepath.Dir(dir), filepath.Join(dir, "node_modules", "@github")} {
		for _, name := range []string{release.Platform(), strings.Replace(release.Platform(), "linux-", "linuxmusl-", 1)} {
			if found, err := exec.LookPath(filepath.Join(packages, "copilot-"+name, "copilot")); err == nil {
				return found
			}
		}
	}
	return path
}

// loaderOf returns the loader script that npm's command file for Windows starts, which is in the directory of global packages or in that of a
// project's commands; any other path is returned as it is.
func loaderOf(path string) string {
	if !strings.EqualFold(filepath.Ext(path), ".cmd") {
		return path
	}
	dir := filepath.Dir(path)
	for _, modules := range []string{filepath.Join(dir, "node_modules"), filepath.Dir(dir)} {
		loader := filepath.Join(modules, "@github", "copilot", "npm-loader.js")
		if _, err := os.Stat(loader); err == nil {
			return loader
		}
	}
	return path
}
