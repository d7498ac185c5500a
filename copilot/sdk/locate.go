package sdk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Locate says where the CLI is looked for, in this order.
type Locate struct {
	Configured  string // flag or configuration: this one or none
	Environment string // COPILOT_CLI_PATH: this one or none
	Beside      string // directory of our own executable
	// then "copilot" on PATH
}

// find gives the path of the CLI's executable.
func (l Locate) find() (string, error) {
	for _, given := range []string{l.Configured, l.Environment} {
		if given != "" {
			path, err := exec.LookPath(given)
			if err != nil {
				return "", fmt.Errorf("looked at %s, as configured: %w", given, errors.Unwrap(err))
			}
			return native(path), nil
		}
	}
	if l.Beside != "" {
		if path, err := exec.LookPath(filepath.Join(l.Beside, "copilot")); err == nil {
			return native(path), nil
		}
	}
	path, err := exec.LookPath("copilot")
	if err != nil {
		return "", fmt.Errorf("looked in %s and on PATH", l.Beside)
	}
	return native(path), nil
}

// native finds the executable behind npm's loader script, which would start it
// as a child of its own and leave it behind when it is killed.
func native(path string) string {
	script, err := filepath.EvalSymlinks(path)
	if err != nil || filepath.Base(script) != "npm-loader.js" {
		return path
	}
	dir := filepath.Dir(script)
	name := "copilot-" + platform()
	for _, candidate := range []string{
		filepath.Join(dir, "..", name, "copilot"),
		filepath.Join(dir, "node_modules", "@github", name, "copilot"),
	} {
		if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
			return candidate
		}
	}
	return path
}

// platform is npm's name for this machine.
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
