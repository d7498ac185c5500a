package process_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/process"
)

// startMarked starts an idle process with a mark and an owner.
func startMarked(t *testing.T, mark, owner string, command ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), "COPILOT_PORTAL_AGENT="+mark)
	if owner != "" {
		c.Env = append(c.Env, "COPILOT_PORTAL_OWNER="+owner)
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// gone reports whether a child of the test ends in time.
func gone(c *exec.Cmd, limit time.Duration) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return true
		}
	}
	return false
}

func TestOrphans(t *testing.T) {
	self := process.Owner(os.Getpid())
	require.NotEmpty(t, self)
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	dead := strconv.Itoa(ended.Process.Pid) + ".1"
	sleep := []string{"sleep", "600"}
	for name, tc := range map[string]struct {
		mark, owner string
		halted      bool
		want        bool
	}{
		"a process of a dead portal is ended":            {"M1", dead, false, true},
		"even if it hangs":                               {"M3", dead, true, true},
		"so is one whose portal's process id was reused": {"M4", strconv.Itoa(os.Getpid()) + ".1", false, true},
		"a process of a live portal is spared":           {"M5", self, false, false},
		"a process without an owner is spared":           {"M6", "", false, false},
		"a process with an invalid owner is spared":      {"M7", "the moon", false, false},
		"a process without a mark is spared":             {"", dead, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			isReported, limit := false, 200*time.Millisecond
			if tc.want {
				limit = time.Minute
			}
			for attempt := 0; attempt == 0 || tc.want && !isReported && attempt < 20; attempt++ { // a concurrently tested portal may be faster
				c := startMarked(t, tc.mark, tc.owner, sleep...)
				if tc.halted {
					require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
				}
				ended := process.EndOrphansBut("family")
				assert.Equal(t, tc.want, gone(c, limit))
				isReported = slices.Contains(ended, fmt.Sprintf("sleep (%d)", c.Process.Pid))
			}
			assert.Equal(t, tc.want, isReported)
		})
	}
	// A concurrently tested portal could end these processes.
	t.Run("a process of the same family is spared", func(t *testing.T) {
		c := startMarked(t, "family", dead, sleep...)
		assert.False(t, process.IsOrphan(c.Process.Pid, "family"))
	})
	t.Run("a portal is spared, whoever started it", func(t *testing.T) {
		self, err := os.Executable()
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), filepath.Base(self))
		b, err := os.ReadFile("/bin/sleep")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, b, 0o700))
		portal := startMarked(t, "M9", dead, path, "600")
		assert.False(t, process.IsOrphan(portal.Process.Pid, ""))
		require.NoError(t, os.Remove(path))
		assert.False(t, process.IsOrphan(portal.Process.Pid, ""), "not even when its program was replaced")
	})
	t.Run("started processes have this owner", func(t *testing.T) {
		p, err := process.Start(exec.Command("sleep", "600"))
		require.NoError(t, err)
		t.Cleanup(p.KillAll)
		process.EndOrphansBut("")
		assert.False(t, p.HasEnded(), "it is running")
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID()))
		require.NoError(t, err)
		assert.Contains(t, string(env), "COPILOT_PORTAL_OWNER="+self+"\x00")
		assert.Contains(t, string(env), p.Mark()+"\x00")
	})
}
