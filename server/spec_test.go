package server_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/mcp"
	"github.com/copilot-portal/portal/handlers/rpc"
	"github.com/copilot-portal/portal/handlers/ui"
)

func TestSpecificationStatesMessageLimits(t *testing.T) {
	for file, text := range map[string]string{
		"rpc.md": fmt.Sprintf("A message of more than %d MiB", rpc.MaxMessage>>20),
		"mcp.md": fmt.Sprintf("A message over HTTP may have %d MiB", mcp.MaxMessage>>20),
		"ui.md":  fmt.Sprintf("Lines and frames may have %d MiB", ui.MaxMessage>>20),
	} {
		spec, err := os.ReadFile("../spec/" + file)
		require.NoError(t, err)
		assert.Contains(t, string(spec), text, file)
	}
}
