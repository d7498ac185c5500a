package assets_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
)

// TestMain makes the test program the MCP server desk, if the CLI starts it as
// that. Its tests wait more than they compute, so that several run on each
// processor.
func TestMain(m *testing.M) {
	if os.Getenv(formserver.Variable) != "" {
		formserver.Serve(os.Stdin, os.Stdout)
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const atOnce = 2
