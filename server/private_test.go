package server_test

import (
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// Whoever reads a session, also by a link, reads what its commands print.
func TestAgentDoesNotGetTheTokenOfThePortal(t *testing.T) {
	t.Parallel()
	for name, launch := range map[string]string{
		"the Copilot CLI": "",
		"another program": "#!/bin/sh\nenv > 'ENV'\nexec '" + portaltest.Binary(t) + "' cli --demo\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			env := append(portaltest.Environ(t.TempDir()), "PORTAL_TOKEN=hidden-token", "KEPT=kept")
			prompt, found := "run `env > env.txt` and say `done`", filepath.Join(directory, "env.txt")
			arguments := []string{"ask", "--permissions", "allow", prompt}
			if launch != "" {
				program := filepath.Join(t.TempDir(), "agent")
				require.NoError(t, os.WriteFile(program, []byte(strings.ReplaceAll(launch, "ENV", found)), 0o700))
				arguments = []string{"ask", "--agent-command", program, "say `done`"}
			}
			code, _, stderr := runCommand(t, 2*soon, exec.Cmd{Env: env, Dir: directory, Stdin: strings.NewReader("")}, arguments)
			require.Equal(t, 0, code, stderr)
			text, err := os.ReadFile(found)
			require.NoError(t, err)
			seen := regexp.MustCompile(`(?m)^(PORTAL_TOKEN|KEPT)=.*$`).FindAllString(string(text), -1)
			assert.Equal(t, []string{"KEPT=kept"}, seen)
		})
	}
}

// Sessions contain code and what commands printed. Other users of the machine must not read them, even in a directory that was there
// before.
func TestNobodyElseReadsTheDataOfThePortal(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(data, 0o755))
	temporary := t.TempDir()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--data-dir", data}, Env: []string{"TMPDIR=" + temporary}})
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "a.txt"), []byte("one\n"), 0o600))
	id := p.StartSession(directory, "permissions=allow")
	p.Run(id, "run `echo two > a.txt` and say `done`") // creates a checkpoint
	status, text := p.Do("GET", "/api/copilot/session/"+id+"/history", "")
	require.Equal(t, http.StatusOK, status, text)
	eventually(t, func() bool { return len(below(t, filepath.Join(data, "checkpoints"))) > 0 })
	for _, root := range []string{data, temporary} {
		for _, path := range below(t, root) {
			assert.True(t, isPrivate(t, root, path), "others can read %s", path)
		}
	}
	assert.FileExists(t, filepath.Join(data, "sessions.db"))
}

// below returns the paths of all files below a directory. Temporary files may vanish meanwhile.
func below(t *testing.T, root string) (files []string) {
	t.Helper()
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// isPrivate reports whether others have no access to a file, or to a directory between it and root.
func isPrivate(t *testing.T, root, path string) bool {
	t.Helper()
	for ; path != root; path = filepath.Dir(path) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			return true // or it is gone
		}
	}
	return false
}
