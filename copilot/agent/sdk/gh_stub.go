package sdk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
)

// Where there is no gh the CLI looks for one about seven times a session, which takes
// most of the time that a session needs to start. So it gets one that nobody is signed
// in to, last on its PATH: a real one always comes first, also one that is installed
// later.
const ghStub = `#!/bin/sh
echo "gh: the GitHub CLI is not installed. This is a stand-in of the Copilot Portal, on the PATH of its agent alone." >&2
echo "Install it from https://cli.github.com; it is used from then on." >&2
exit 1
`

// ghStubPrefix begins the names of the directories of stand-ins; the process id follows.
const ghStubPrefix = "portal-gh-"

// addGHStub adds the stand-in to PATH where there is no gh, and returns its directory,
// which the caller removes. Without a place for it the environment stays as it is: it
// only saves time.
func addGHStub(env []string) (with []string, directory string) {
	path, ok := variable(env, "PATH")
	if !ok || runtime.GOOS == "windows" || hasGH(path) {
		return env, ""
	}
	directory, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", ghStubPrefix, os.Getpid()))
	if err != nil {
		return env, ""
	}
	if err := os.WriteFile(filepath.Join(directory, "gh"), []byte(ghStub), 0o700); err != nil { //nolint:gosec // a program
		_ = os.RemoveAll(directory)
		return env, ""
	}
	return append(slices.Clone(env), "PATH="+path+string(os.PathListSeparator)+directory), directory
}

func hasGH(path string) bool {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			if _, err := exec.LookPath(filepath.Join(dir, "gh")); err == nil {
				return true
			}
		}
	}
	return false
}

// variable returns the value that counts of a variable: the last.
func variable(env []string, name string) (value string, ok bool) {
	for _, v := range env {
		if after, found := strings.CutPrefix(v, name+"="); found {
			value, ok = after, true
		}
	}
	return value, ok
}

// removeLeft removes what portals that were killed have left among the temporary files:
// stand-ins and sockets of sandboxes.
func removeLeft() {
	removeLeftOf(ghStubPrefix)
	removeLeftOf(sandbox.GateDirectory)
}

func removeLeftOf(prefix string) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*")) // the pattern is valid
	for _, dir := range left {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(id)
		if err != nil {
			continue
		}
		owner, err := os.FindProcess(pid)
		if err == nil && errors.Is(owner.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			_ = os.RemoveAll(dir) // that of another user stays
		}
	}
}
