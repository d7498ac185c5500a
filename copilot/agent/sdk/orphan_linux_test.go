package sdk_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
)

// startMarked starts an idle process with a mark and an owner.
func startMarked(t *testing.T, mark, owner string) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "600")
	c.Env = append(os.Environ(), "COPILOT_PORTAL_AGENT="+mark, "COPILOT_PORTAL_OWNER="+owner)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// gone reports whether a child of the test ends soon.
func gone(c *exec.Cmd) bool {
	for deadline := time.Now().Add(200 * time.Millisecond); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return true
		}
	}
	return false
}

func TestFirstStartEndsOrphansWhenConfigured(t *testing.T) {
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	dead := strconv.Itoa(ended.Process.Pid) + ".1"
	c := startMarked(t, "M10", dead)
	var log bytes.Buffer
	for _, asked := range []bool{false, true} {
		launch(t, scriptedCLI{Version: sdk.MinVersion}.driver(t, func(o *sdk.Options) {
			o.EndOrphans = asked
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		}))
		assert.Equal(t, asked, gone(c))
	}
	assert.Contains(t, log.String(), fmt.Sprintf("process=\"sleep (%d)\"", c.Process.Pid))
}
