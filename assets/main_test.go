package assets_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
)

// TestMain runs the test program as the MCP server desk if the CLI starts it as
// such. The tests mostly wait, so several run on each processor.
func TestMain(m *testing.M) {
	if os.Getenv(formserver.Variable) != "" {
		formserver.Serve(os.Stdin, os.Stdout, os.Getenv(formserver.Mark))
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const atOnce = 2
