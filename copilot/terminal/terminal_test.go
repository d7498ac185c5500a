//go:build unix

package terminal_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/terminal"
)

const patience = time.Minute

// start starts a shell in a directory of its own.
func start(t *testing.T, environ ...string) (shell *terminal.Terminal, dir string) {
	t.Helper()
	dir = t.TempDir()
	shell, err := terminal.Start(terminal.Options{
		Directory: dir, Environ: append([]string{"SHELL=/bin/sh", "PATH=" + os.Getenv("PATH"), "PS1=$ "}, environ...), Size: terminal.Size{Columns: 80, Rows: 24},
	})
	require.NoError(t, err)
	t.Cleanup(shell.Close)
	return shell, dir
}

func write(t *testing.T, shell *terminal.Terminal, text string) {
	t.Helper()
	_, err := shell.Write([]byte(text))
	require.NoError(t, err)
}

// readTo reads until the output contains a text.
func readTo(t *testing.T, shell *terminal.Terminal, text string) (all string) {
	t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(all, text) {
		n, err := shell.Read(buffer)
		require.NoError(t, err, all)
		all += string(buffer[:n])
	}
	return all
}

// pidIn returns the process id that a program writes to a file.
func pidIn(t *testing.T, path string) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(path)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	}, patience, 10*time.Millisecond)
	return pid
}

func assertEnded(t *testing.T, pid int) {
	t.Helper()
	assert.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ")
	}, patience, 10*time.Millisecond, "process %d still runs", pid)
}

func TestShellRunsInTheDirectory(t *testing.T) {
	shell, dir := start(t)
	resolved, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	write(t, shell, "echo at:$(pwd -P) $TERM $((1+1))\n")
	readTo(t, shell, "at:"+resolved+" xterm-256color 2")
	shell.Resize(terminal.Size{Columns: 132, Rows: 43})
	shell.Resize(terminal.Size{Columns: 0, Rows: 1 << 20}) // ignored
	write(t, shell, "stty size\n")
	readTo(t, shell, "43 132")
	write(t, shell, "exit 3\n")
	_, err = io.Copy(io.Discard, shell)
	require.NoError(t, err)
	<-shell.Ended()
	assert.Equal(t, "exit status 3", shell.Outcome())
}

func TestNothingOutlivesTheTerminal(t *testing.T) {
	shell, dir := start(t)
	script := "sleep 600 & echo $! > background\n" +
		"nohup sleep 600 >/dev/null 2>&1 & echo $! > nohup\n" +
		"env -i PATH=\"$PATH\" nohup sleep 600 >/dev/null 2>&1 & echo $! > bare\n" +
		"setsid sh -c 'echo $$ > own; exec sleep 600' &\n" +
		"sh -c 'trap \"\" HUP TERM INT; echo $$ > stubborn; while :; do sleep 600; done'\n"
	write(t, shell, script)
	pids := []int{shell.PID()}
	for _, name := range []string{"background", "nohup", "bare", "own", "stubborn"} {
		pids = append(pids, pidIn(t, filepath.Join(dir, name)))
	}
	shell.Close()
	for _, pid := range pids {
		assertEnded(t, pid)
	}
	shell.Close()
	_, err := shell.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
}

func TestUnreadOutputStopsTheProgram(t *testing.T) {
	shell, dir := start(t)
	write(t, shell, "yes > /dev/tty & sleep 0.3; echo $! > pid\n")
	pid := pidIn(t, filepath.Join(dir, "pid"))
	shell.Close() // although nothing was read
	assertEnded(t, pid)
}

func TestShellNeedsADirectory(t *testing.T) {
	_, err := terminal.Start(terminal.Options{Directory: filepath.Join(t.TempDir(), "gone")})
	require.ErrorIs(t, err, fault.ErrDirectoryNotFound)
}

func TestShellWithoutASizeOrShellStarts(t *testing.T) {
	shell, err := terminal.Start(terminal.Options{Directory: t.TempDir(), Environ: []string{"SHELL=/not/there", "TERM=dumb"}})
	require.NoError(t, err)
	defer shell.Close()
	write(t, shell, "echo $TERM-ok\n")
	readTo(t, shell, "xterm-256color-ok")
}
