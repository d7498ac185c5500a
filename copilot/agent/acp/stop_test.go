package acp_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// blocked returns a pool with one process, whose conversation does not accept the end of its prompt before release is closed.
func blocked(t *testing.T) (pool *agent.Pool, a agent.Agent, c agent.Conversation, release chan struct{}) {
	t.Helper()
	pool = agent.NewPool(script(t, "x", nil).driver.Launch, agent.PoolOptions{})
	lease, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	release = make(chan struct{})
	c, err = lease.Agent.Open(t.Context(), agent.Opening{Session: "p1", Model: "x/default", Directory: t.TempDir()}, func(_ string, b event.Body) {
		if _, ends := b.(event.Idle); ends {
			<-release
		}
	})
	require.NoError(t, err)
	require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
	synctest.Wait()
	return pool, lease.Agent, c, release
}

func TestPoolWaitsForTheWorkOnPrompts(t *testing.T) {
	for name, end := range map[string]func(agent.Agent){"of a process that it stops": func(agent.Agent) {}, "of a process that has died": acp.Kill} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool, a, c, release := blocked(t)
				end(a)
				synctest.Wait()
				closed := make(chan struct{})
				go func() {
					pool.Close(context.Background())
					close(closed)
				}()
				<-a.Done()
				synctest.Wait()
				assert.False(t, agent.IsClosed(closed))
				close(release)
				<-closed
				assert.Equal(t, fault.Unavailable, fault.KindOf(c.Send(t.Context(), event.Prompt{Text: "late"})))
			})
		})
	}
}
