package page_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
)

func TestPathsAreCompleted(t *testing.T) {
	inTime(t, func(p *portal) {
		dir := t.TempDir()
		t.Setenv("HOME", dir)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "project", "docs"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "project", "docs", "read.me"), nil, 0o600))
		s, err := p.Host.Start(t.Context(), copilot.Start{Origin: "ui", Directory: dir + "/project", WithoutAgent: true})
		require.NoError(t, err)
		u := p.Able()
		assert.Equal(t, document{"entries": []any{document{"path": dir + "/project", "name": "project"}}, "more": false},
			u.Ask("portal.directory.complete", document{"path": "~/pro"}))
		assert.Equal(t, document{"entries": []any{}, "more": false}, u.Ask("portal.directory.complete", document{"path": dir + "/x/"}))
		assert.Equal(t, document{"path": dir + "/project", "exists": true}, u.Ask("portal.directory.describe", document{"path": "~/project/"}))
		assert.Equal(t, document{"path": dir + "/x", "exists": false}, u.Ask("portal.directory.describe", document{"path": dir + "/x"}))
		assert.Equal(t, document{"files": []any{document{"path": "docs/read.me", "name": "read.me"}}, "more": false},
			u.Ask("portal.files.complete", document{"session_id": s.ID(), "query": "rme"}))
		for _, typed := range []string{"~/project", dir + "/project/"} {
			assert.Equal(t, document{"files": []any{document{"path": "docs/read.me", "name": "read.me"}}, "more": false},
				u.Ask("portal.files.complete", document{"directory": typed, "query": "rme"}))
		}
		assert.Equal(t, document{"paths": []any{"docs/gone", dir + "/x"}}, u.Ask("portal.files.missing", document{
			"session_id": s.ID(), "paths": []string{"docs/read.me", "docs/gone", dir + "/x", dir + "/project/docs"},
		}))
		assert.Equal(t, -32602, u.Ask("portal.files.missing", document{"session_id": s.ID(), "paths": slices.Repeat([]string{"x"}, 1001)})["code"])
	})
}

func TestFileIsRead(t *testing.T) {
	inTime(t, func(p *portal) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.unknown"), []byte("a <b>\r\n\r\n<i>\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "b.bin"), []byte{0}, 0o600))
		s, err := p.Host.Start(t.Context(), copilot.Start{Origin: "ui", Directory: dir, WithoutAgent: true})
		require.NoError(t, err)
		u := p.Able()
		read := u.Ask("portal.file.read", document{"session_id": s.ID(), "path": dir + "/a.unknown", "from": 2, "limit": 2, "html": true})
		delete(read, "modified_at")
		assert.Equal(t, document{
			"path": "a.unknown", "size": 13.0, "encoding": "utf-8", "line_ends": "mixed", "count": 3.0, "from": 2.0,
			"lines": []any{document{"text": ""}, document{"text": "<i>", "html": "&lt;i&gt;"}},
		}, read)
		read = u.Ask("portal.file.read", document{"session_id": s.ID(), "path": "a.unknown", "limit": 1})
		assert.Equal(t, []any{document{"text": "a <b>"}}, read["lines"])
		read = u.Ask("portal.file.read", document{"session_id": s.ID(), "path": "b.bin"})
		assert.Equal(t, []any{true, []any{}}, []any{read["binary"], read["lines"]})
		assert.Equal(t, document{"paths": []any{"a.unknown", dir + "/b.bin"}}, u.Ask("portal.files.find", document{
			"session_id": s.ID(), "paths": []string{"a.unknown", "gone", "../x", ".", dir + "/b.bin", "/etc/hosts"},
		}))
		assert.Equal(t, -32602, u.Ask("portal.files.find", document{"session_id": s.ID(), "paths": slices.Repeat([]string{"x"}, 1001)})["code"])
	})
}

func TestMissingDirectoryIsReported(t *testing.T) {
	inTime(t, func(p *portal) {
		dir := filepath.Join(t.TempDir(), "gone")
		require.NoError(t, os.Mkdir(dir, 0o700))
		s, err := p.Host.Start(t.Context(), copilot.Start{Origin: "ui", Directory: dir, WithoutAgent: true})
		require.NoError(t, err)
		require.NoError(t, os.Remove(dir))
		answer := p.Able().Ask("portal.files.complete", document{"session_id": s.ID(), "query": ""})
		assert.Equal(t, -32602, answer["code"])
		assert.Contains(t, answer["message"], dir)
	})
}
