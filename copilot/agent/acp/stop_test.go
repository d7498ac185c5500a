package acp_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestStopWaitsForTheWorkOnPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := script(t, "x", nil).driver.Launch(t.Context())
		require.NoError(t, err)
		release := make(chan struct{})
		c, err := a.Open(t.Context(), agent.Opening{Session: "p1", Model: "x/default", Directory: t.TempDir()}, func(_ string, b event.Body) {
			if _, ends := b.(event.Idle); ends {
				<-release
			}
		})
		require.NoError(t, err)
		require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
		synctest.Wait()
		stopped := make(chan struct{})
		go func() {
			a.Stop(context.Background())
			close(stopped)
		}()
		<-a.Done()
		synctest.Wait()
		assert.False(t, agent.IsClosed(stopped))
		close(release)
		<-stopped
		assert.Equal(t, fault.Unavailable, fault.KindOf(c.Send(t.Context(), event.Prompt{Text: "late"})))
	})
}
