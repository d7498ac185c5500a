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

	"github.com/copilot-portal/portal/copilot/agent/process"
	"github.com/copilot-portal/portal/copilot/agent/sandbox"
)

// Without gh, the CLI looks for one about seven times per session, which takes most of the time to start a
// session. So it gets a stub that is not signed in, last on its PATH: a real gh always takes precedence, even
// if it is installed later.
const ghStub = `#!/bin/sh
echo "gh: the GitHub CLI is not installed. This is a stand-in of the Copilot Portal, on the PATH of its agent alone." >&2
echo "Install it from https://cli.github.com; it is used from then on." >&2
exit 1
`

// ghStubPrefix is the prefix of the stubs' directories; the process id follows.
const ghStubPrefix = "portal-gh-"

// addGHStub adds the stub to PATH if there is no gh, and returns its directory, which the caller must remove.
// If it cannot create one, it returns the environment unchanged: the stub only saves time.
func addGHStub(env []string) (with []string, directory string) {
	path, ok := process.Variable(env, "PATH")
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

// removeLeft removes temporary files of killed portals: stubs and sockets of sandboxes.
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
			_ = os.RemoveAll(dir) // fails for those of another user
		}
	}
}
