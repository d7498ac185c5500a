package process_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"time"

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

// A process with much memory takes some time to end even when it is killed.
func TestKilledChildrenHaveEndedWhenEndChildrenReturns(t *testing.T) {
	p, err := process.Start(exec.Command("sh", "-c", `trap "" TERM; { head -c 200000000 /dev/zero; sleep 600; } | tail & kill -9 $$`))
	require.NoError(t, err)
	<-p.Exited()
	began := time.Now()
	assert.NotZero(t, p.EndChildren())
	if time.Since(began) < time.Second { // otherwise it may have given up
		assert.Zero(t, p.EndChildren())
	}
}

func TestProcessLeadsASessionWithoutTerminal(t *testing.T) {
	var out bytes.Buffer
	c := exec.Command("sh", "-c", `echo $$; cut -d " " -f 6 /proc/$$/stat; (: </dev/tty) 2>/dev/null || echo none`)
	c.Stdout = &out
	p, err := process.Start(c)
	require.NoError(t, err)
	<-p.Exited()
	words := strings.Fields(out.String())
	require.Len(t, words, 3, out.String())
	assert.Equal(t, words[0], words[1], "it leads its session")
	assert.Equal(t, "none", words[2])
}
