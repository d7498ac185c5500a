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

// bear starts a process that carries a mark and an owner and does nothing.
func bear(t *testing.T, mark, owner string, command ...string) *exec.Cmd {
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

// gone says whether a child of the test ends soon.
func gone(c *exec.Cmd) bool {
	for deadline := time.Now().Add(200 * time.Millisecond); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
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
		"one whose portal is gone is ended":                     {"M1", dead, false, true},
		"even if it hangs":                                      {"M3", dead, true, true},
		"one whose portal's number another process has is, too": {"M4", strconv.Itoa(os.Getpid()) + ".1", false, true},
		"one whose portal lives is left alone":                  {"M5", self, false, false},
		"one that names no portal is left alone":                {"M6", "", false, false},
		"one that names nonsense is left alone":                 {"M7", "the moon", false, false},
		"one without a mark is left alone":                      {"", dead, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := bear(t, tc.mark, tc.owner, sleep...)
			if tc.halted {
				require.NoError(t, c.Process.Signal(syscall.SIGSTOP))
			}
			begin := time.Now()
			ended := process.EndOrphansBut("family")
			t.Logf("%d ended in %v", len(ended), time.Since(begin))
			assert.Equal(t, tc.want, gone(c))
			assert.Equal(t, tc.want, slices.Contains(ended, fmt.Sprintf("sleep (%d)", c.Process.Pid)))
		})
	}
	// These another portal that is under test at the same time might end.
	t.Run("one of our own family is left alone", func(t *testing.T) {
		c := bear(t, "family", dead, sleep...)
		assert.False(t, process.IsOrphan(c.Process.Pid, "family"))
	})
	t.Run("a portal is left alone, whoever started it", func(t *testing.T) {
		self, err := os.Executable()
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), filepath.Base(self))
		b, err := os.ReadFile("/bin/sleep")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, b, 0o700))
		portal := bear(t, "M9", dead, path, "600")
		assert.False(t, process.IsOrphan(portal.Process.Pid, ""))
		require.NoError(t, os.Remove(path))
		assert.False(t, process.IsOrphan(portal.Process.Pid, ""), "not even when its program was replaced")
	})
	t.Run("what we start names us", func(t *testing.T) {
		p, err := process.Start(exec.Command("sleep", "600"))
		require.NoError(t, err)
		t.Cleanup(p.KillAll)
		process.EndOrphansBut("")
		assert.False(t, p.HasEnded(), "and it lives")
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID()))
		require.NoError(t, err)
		assert.Contains(t, string(env), "COPILOT_PORTAL_OWNER="+self+"\x00")
		assert.Contains(t, string(env), p.Mark()+"\x00")
	})
}
