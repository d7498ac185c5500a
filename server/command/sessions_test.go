package command_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/command"
)

func writeHello(w io.Writer) error {
	_, err := io.WriteString(w, "hello")
	return err
}

func TestExportFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("before"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	failure := errors.New("not now")
	require.ErrorIs(t, command.WriteTo(link, func(io.Writer) error { return failure }), failure)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "before", string(text), "only a complete export replaces a file")
	require.NoError(t, command.WriteTo(link, writeHello))
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "hello", string(text))
	target, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, file, target)
}

func TestExportWritesToPipes(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := exec.Command("mkfifo", fifo).Run(); err != nil {
		t.Skip("this system has no mkfifo")
	}
	got := make(chan string, 1)
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0) // does not wait for a writer
	require.NoError(t, err)
	defer reader.Close()
	go func() {
		text := make([]byte, len("hello"))
		_, _ = io.ReadFull(reader, text)
		got <- string(text)
	}()
	require.NoError(t, command.WriteTo(fifo, writeHello))
	info, err := os.Lstat(fifo)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeNamedPipe, "the pipe is still there")
	assert.Equal(t, "hello", <-got)
}
