package sdk_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

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

func TestFirstStartEndsOrphansWhenConfigured(t *testing.T) {
	ended := exec.Command("true")
	require.NoError(t, ended.Run())
	dead := strconv.Itoa(ended.Process.Pid) + ".1"
	endsOrphan := func(configured bool) bool {
		c := startMarked(t, "M10", dead)
		var log bytes.Buffer
		launch(t, scriptedCLI{Version: sdk.MinVersion}.driver(t, func(o *sdk.Options) {
			o.EndOrphans = configured
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		}))
		return strings.Contains(log.String(), fmt.Sprintf("process=\"sleep (%d)\"", c.Process.Pid))
	}
	assert.False(t, endsOrphan(false))
	for range 20 { // another portal of this machine may be faster
		if endsOrphan(true) {
			return
		}
	}
	assert.Fail(t, "no orphan was ended")
}
