package assets_test

import (
	"os"
	"testing"

	"github.com/copilot-portal/portal/copilot/sdk/desk"
)

// TestMain makes the tests' program an MCP server where the CLI starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv(desk.Variable) != "" {
		desk.Serve(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}
