package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestFilesAreReadInEveryDialect(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	dir, outside := t.TempDir(), t.TempDir()
	put := func(path, text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	put(filepath.Join(outside, "secret.txt"), "secret")
	put(filepath.Join(dir, "a.go"), "package a\n\nconst token = \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\"\n")
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))

	ui, _ := overUI(t, p)
	rpc := overRPC(t, p)
	ui.must("initialize", map[string]any{"protocol_version": "0"})
	session := p.StartSession(dir, "permissions=allow")
	read := ui.must("portal.file.read", map[string]any{"session_id": session, "path": filepath.Join(dir, "a.go"), "html": true})
	assert.Equal(t, []any{"a.go", 3.0, 1.0, "utf-8", "lf"}, []any{read["path"], read["count"], read["from"], read["encoding"], read["line_ends"]})
	assert.Equal(t, `<span class="hl-k">package</span> a`, strings.ReplaceAll(column(read["lines"], "html")[0].(string), `<span class="hl-k">package </span>`, `<span class="hl-k">package</span> `))
	same := rpc.must("file.read", map[string]any{"sessionId": session, "path": "a.go", "from": 3})
	assert.Equal(t, []any{`const token = "ghp_…masked"`}, column(same["lines"], "text"))
	assert.Equal(t, column(read["lines"], "text")[2:], column(same["lines"], "text"))
	found := ui.must("portal.files.find", map[string]any{"session_id": session, "paths": []string{"a.go", "link", "pipe", "../x", "gone"}})
	assert.Equal(t, []any{"a.go"}, found["paths"])

	for path, want := range map[string]string{
		"link": "cannot be opened in the session's directory", "pipe": "is not a regular file", "../x": "is outside of the session's directory",
		filepath.Join(outside, "secret.txt"): "is outside of the session's directory", "gone": "does not exist", ".": "is a directory", "": "the path is missing",
	} {
		_, message := ui.call("portal.file.read", map[string]any{"session_id": session, "path": path})
		assert.Contains(t, message, want)
		_, message = rpc.call("file.read", map[string]any{"sessionId": session, "path": path})
		assert.Contains(t, message, want)
	}
}
