//go:build unix

package acp_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestOnlyTextFilesAreServed(t *testing.T) {
	directory := t.TempDir()
	file := func(name string) string { return filepath.Join(directory, name) }
	require.NoError(t, syscall.Mkfifo(file("pipe"), 0o600))
	require.NoError(t, os.WriteFile(file("large"), nil, 0o600))
	require.NoError(t, os.Truncate(file("large"), 1<<40))
	require.NoError(t, os.WriteFile(file("latin"), []byte("caf\xe9\n"), 0o600))
	errs := map[string]error{}
	s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		for _, name := range []string{"pipe", "large", "latin"} {
			errs[name] = p.Call(ctx, "fs/read_text_file", document{"sessionId": "s1", "path": file(name)}, nil)
		}
		return "end_turn"
	}))
	c, bodies := s.open(directory)
	s.prompt(c, bodies, approve)
	require.ErrorContains(t, errs["pipe"], "not a regular file")
	require.ErrorContains(t, errs["large"], "bytes")
	require.ErrorContains(t, errs["latin"], "UTF-8")
}

func TestFilesAreServedBehindLinks(t *testing.T) {
	canonical, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(canonical, link))
	require.NoError(t, os.Symlink(os.DevNull, filepath.Join(canonical, "out")))
	errs := map[string]error{}
	s := script(t, "x", prompted(func(ctx context.Context, p *jsonrpc.Peer) string {
		for name, path := range map[string]string{"real": filepath.Join(canonical, "a"), "link": filepath.Join(link, "b"), "out": filepath.Join(link, "out")} {
			errs[name] = p.Call(ctx, "fs/write_text_file", document{"sessionId": "s1", "path": path, "content": "x"}, nil)
		}
		return "end_turn"
	}))
	c, bodies := s.open(link)
	s.prompt(c, bodies, approve)
	require.NoError(t, errs["real"])
	require.NoError(t, errs["link"])
	require.ErrorContains(t, errs["out"], "outside of the working directory")
	for _, name := range []string{"a", "b"} {
		assert.FileExists(t, filepath.Join(canonical, name))
	}
}
