//go:build unix

package process_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/process"
)

func TestProcessExitIsReported(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":        "exited with error code 0: 'out of memory'",
		"exit 3":        "exited with error code 3: 'out of memory'",
		"kill -9 $$":    "exited with error code 137: 'killed'",
		"kill -TERM $$": "exited with error code 143: 'terminated'",
	} {
		p, err := process.Start(exec.Command("sh", "-c", script))
		require.NoError(t, err)
		<-p.Exited()
		assert.Equal(t, want, p.Exit("Starting.\nout of memory\n\n"), script)
	}
	p, err := process.Start(exec.Command("false"))
	require.NoError(t, err)
	<-p.Exited()
	assert.Equal(t, "exited with error code 1", p.Exit(""))
}
