package process_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/process"
)

func TestChildrenWithoutMarkEndWithTheSession(t *testing.T) {
	p, err := process.Start(exec.Command("sh", "-c", `env -i sleep 600 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done; kill -9 $$`))
	require.NoError(t, err)
	<-p.Exited()
	assert.Equal(t, 1, p.EndChildren())
}
