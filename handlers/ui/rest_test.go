package ui_test

import (
	"bytes"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

// spins reports whether the goroutine of an attachment never waits, in many samples. Virtual time
// would stand still.
func spins() bool {
	all := make([]byte, 1<<20)
	for range 50 {
		pause := syscall.NsecToTimespec(2e6)
		_ = syscall.Nanosleep(&pause, nil)
		for g := range bytes.SplitSeq(all[:runtime.Stack(all, true)], []byte("\n\n")) {
			head, _, _ := bytes.Cut(g, []byte("\n"))
			if bytes.Contains(g, []byte("(*attachment).run(")) && bytes.Contains(head, []byte("(durable)")) {
				return false
			}
		}
	}
	return true
}

func TestFollowerWaitsWhileSessionIsSuspended(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		kept, err := store.Open(t.Context(), store.Options{Directory: directory})
		require.NoError(t, err)
		p := uitest.New(t, uitest.Options{Host: copilot.Options{Store: kept}})
		defer p.Agents.Close()
		u := p.Able()
		u.Prompt("a")
		synctest.Wait()
		closed := make(chan struct{})
		go func() { defer close(closed); p.Host.Close(t.Context()) }()
		isBusy := spins()
		close(u.In)
		<-u.Done
		<-closed
		require.NoError(t, kept.Close())
		assert.False(t, isBusy, "it asks for the session again and again, until the UI goes")
	})
}
