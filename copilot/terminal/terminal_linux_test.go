package terminal_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/terminal"
)

// readAll reads until the end; the channel then gets the output.
func readAll(shell *terminal.Terminal) <-chan string {
	all := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(shell) // Read reports no other errors
		all <- string(text)
	}()
	return all
}

func awaitEnd(t *testing.T, all <-chan string) string {
	t.Helper()
	select {
	case text := <-all:
		return text
	case <-time.After(patience):
		require.Fail(t, "reading does not end")
		return ""
	}
}

// escape starts a program that keeps the terminal open and is not found.
func escape(t *testing.T, shell *terminal.Terminal, dir string) {
	t.Helper()
	write(t, shell, "env -i PATH=\"$PATH\" setsid sh -c 'echo $$ > escaped; exec sleep 600' &\n")
	pid := pidIn(t, filepath.Join(dir, "escaped"))
	t.Cleanup(func() { assert.NoError(t, syscall.Kill(pid, syscall.SIGKILL)) })
}

func TestClosedTerminalHangsUp(t *testing.T) {
	require.Eventually(t, func() bool { return hangsUp(t) }, 5*time.Minute, time.Millisecond, "on a busy machine, a shell may take longer than it may")
}

// hangsUp reports whether a shell whose terminal is closed runs its trap to the end.
func hangsUp(t *testing.T) bool {
	t.Helper()
	shell, dir := start(t, "SHELL=/bin/bash")
	write(t, shell, "trap 'echo hup > got; exit 3' HUP; echo > ready; while :; do sleep 0.1; done\n")
	all := readAll(shell)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil }, patience, 10*time.Millisecond)
	shell.Close()
	awaitEnd(t, all)
	_, err := os.Stat(filepath.Join(dir, "got"))
	return err == nil && shell.Outcome() == "exit status 3"
}

func TestReadingEndsWithTheTerminal(t *testing.T) {
	shell, dir := start(t)
	all := readAll(shell)
	escape(t, shell, dir)
	shell.Close()
	awaitEnd(t, all)
}

func TestReadingEndsWithTheShell(t *testing.T) {
	shell, dir := start(t)
	escape(t, shell, dir)
	all := readAll(shell)
	write(t, shell, "echo last; exit 3\n")
	assert.Contains(t, awaitEnd(t, all), "last")
	assert.Equal(t, "exit status 3", shell.Outcome())
}

func TestLastOutputOfAShellIsKept(t *testing.T) {
	shell, _ := start(t)
	write(t, shell, "stty -echo; head -c 3000 /dev/zero | tr '\\0' x; echo; echo last; exit\n")
	<-shell.Ended()
	assert.Contains(t, awaitEnd(t, readAll(shell)), "last", "although it is read late")
}
