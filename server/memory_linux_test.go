package server_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

// residentPages returns the size of the pages of files that this process has in memory, in kB.
func residentPages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(status), "RssFile:")
	size, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	return size
}

func TestPagesOfTheProgramAreReleased(t *testing.T) {
	before := residentPages(t)
	require.NoError(t, server.ReleaseProgram())
	assert.Less(t, residentPages(t), before)
}
