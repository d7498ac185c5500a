package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
)

// place creates a home directory with a project in it, not below /tmp, which is empty in a sandbox. This repository
// itself may be cloned below /tmp.
func place(t *testing.T) (home, project string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(cache, 0o700))
	home, err = os.MkdirTemp(cache, "portal-test-") //nolint:usetesting // not below /tmp
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	home, err = filepath.EvalSymlinks(home)
	require.NoError(t, err)
	for _, dir := range []string{"project", "state", ".ssh", "kept"} {
		require.NoError(t, os.Mkdir(filepath.Join(home, dir), 0o700))
	}
	for _, file := range []string{".ssh/id", ".netrc", "kept/database", "notes", "state/session", ".Xauthority"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, file), []byte(file), 0o600))
	}
	return home, filepath.Join(home, "project")
}

// run runs a shell command in a sandbox and returns its output.
func run(t *testing.T, b sandbox.Sandbox, script string) string {
	t.Helper()
	line, err := b.Command("/bin/sh", "-c", script)
	require.NoError(t, err)
	out, _ := exec.Command(line[0], line[1:]...).CombinedOutput()
	return strings.TrimSpace(string(out))
}

func TestOnlyDirectoryAndStateAreWritable(t *testing.T) {
	home, project := place(t)
	b := sandbox.Sandbox{Directory: project, Home: home, State: []string{filepath.Join(home, "state")}}
	require.NoError(t, sandbox.Probe(t.Context(), sandbox.Shared), "make deps installs bubblewrap")
	assert.Equal(t, project, run(t, b, "pwd"))
	outside := "/tmp/" + uuid.NewString()
	assert.Empty(t, run(t, b, "touch in ../state/in "+outside+" /var"+outside))
	for _, path := range []string{home + "/out", home + "/notes", "/etc/out", "/usr/out", "/root/out"} {
		assert.Contains(t, run(t, b, "echo x >"+path), "Read-only file system", path)
	}
	assert.FileExists(t, filepath.Join(project, "in"))
	assert.FileExists(t, filepath.Join(home, "state", "in"))
	assert.NoFileExists(t, outside)
	assert.Equal(t, "notes", run(t, b, "cat ../notes"), "other files are readable")
}

func TestSecretsAndOtherProcessesAreHidden(t *testing.T) {
	home, project := place(t)
	b := sandbox.Sandbox{Directory: project, Home: home, Hidden: []string{filepath.Join(home, "kept")}}
	for _, path := range []string{".ssh/id", ".netrc", ".Xauthority", "kept/database"} {
		assert.Empty(t, run(t, b, "cat ../"+path+" 2>/dev/null"), path)
	}
	assert.Equal(t, "1", run(t, b, "echo $$"))
	assert.Empty(t, run(t, b, "ls /run | grep -v systemd"))
	other, err := os.MkdirTemp("/tmp", "other") //nolint:usetesting // must be in /tmp
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.Remove(other)) })
	assert.Empty(t, run(t, b, "ls -d "+other+" 2>/dev/null"))
}

func TestHiddenFilesBelowTheDirectoryAreHidden(t *testing.T) {
	home, project := place(t)
	data, settings := filepath.Join(project, "data"), filepath.Join(project, "portal.yaml")
	require.NoError(t, os.Mkdir(data, 0o700))
	for _, path := range []string{settings, filepath.Join(data, "database")} {
		require.NoError(t, os.WriteFile(path, []byte("token"), 0o600))
	}
	b := sandbox.Sandbox{Directory: project, Home: home, Hidden: []string{data, settings}}
	assert.NotContains(t, run(t, b, "cat portal.yaml data/database; echo x >portal.yaml; echo x >data/database"), "token")
	for _, path := range []string{settings, filepath.Join(data, "database")} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "token", string(text), path)
	}
	b.Directory = filepath.Join(data, "work")
	require.NoError(t, os.Mkdir(b.Directory, 0o700))
	assert.Empty(t, run(t, b, "touch in"))
	assert.FileExists(t, filepath.Join(b.Directory, "in"), "a working directory is not hidden")
}

func TestVisibleFilesInHiddenDirectoriesAreReadable(t *testing.T) {
	home, project := place(t)
	kept := filepath.Join(home, "kept")
	program := filepath.Join(kept, "cli", "program")
	require.NoError(t, os.Mkdir(filepath.Dir(program), 0o700))
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho runs\n"), 0o700))
	link := filepath.Join(home, "link")
	require.NoError(t, os.Symlink(kept, link))
	for _, path := range []string{program, filepath.Join(link, "cli", "program")} {
		b := sandbox.Sandbox{Directory: project, Home: home, Hidden: []string{kept}, Visible: []string{path}}
		assert.Equal(t, "runs", run(t, b, path))
		assert.Equal(t, "cli", run(t, b, "ls "+kept), "only the visible file")
		assert.Contains(t, run(t, b, "echo x >"+path), "Read-only file system")
	}
}

func TestTooBroadDirectoryIsRefused(t *testing.T) {
	home, project := place(t)
	link := filepath.Join(project, "link")
	require.NoError(t, os.Symlink(home, link))
	for _, directory := range []string{"/", home, filepath.Dir(home), link, filepath.Join(home, "state"), "/etc", "/usr", "/tmp"} {
		b := sandbox.Sandbox{Directory: directory, Home: home, State: []string{filepath.Join(home, "state")}}
		_, err := b.Command("true")
		assert.ErrorContains(t, err, "choose a directory below it", directory)
	}
}

func TestMissingOrForbiddenBubblewrapIsExplained(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	require.ErrorContains(t, sandbox.Probe(t.Context(), sandbox.Shared), "install the package bubblewrap")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"), 0o700))
	assert.ErrorContains(t, sandbox.Probe(t.Context(), sandbox.Shared), "No permissions to create new namespace")
}

func TestVariablesLeadingOutsideAreRemoved(t *testing.T) {
	assert.Equal(t, []string{"PATH=/bin", "GH_TOKEN=x"},
		sandbox.Environment([]string{"PATH=/bin", "PORTAL_TOKEN=x", "SSH_AUTH_SOCK=/x", "GH_TOKEN=x", "DBUS_SESSION_BUS_ADDRESS=x", "XDG_RUNTIME_DIR=/run/user/0", "DISPLAY=:0", "XAUTHORITY=/x", "WAYLAND_DISPLAY=wayland-0"}))
}
