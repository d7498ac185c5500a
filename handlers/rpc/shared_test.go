package rpc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/rpc"
)

// window is a portal of its own, as each window of an IDE has one.
func window(t *testing.T, agents *fake.Agents, dir string) *api {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Directory: dir})
	require.NoError(t, err)
	a := &api{T: t, agents: agents, plugin: &plugin{answer: always(200, success)}}
	a.host = agents.NewHost(copilot.Options{Store: s})
	a.rpc = rpc.New(rpc.Options{Host: a.host, WorkDir: "/", Carrier: a.plugin, Callback: "http://localhost:1"})
	r := gin.New()
	a.rpc.Routes(r)
	a.handler = r
	t.Cleanup(func() {
		a.rpc.Close()
		a.host.Close(t.Context())
		assert.NoError(t, s.Close())
	})
	return a
}

func TestPluginOfUsingWindowExecutesTool(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		t.Cleanup(agents.Close)
		agents.Script = commits
		first, second := window(t, agents, dir), window(t, agents, dir)
		id := first.create(document{"permissions": document{"git.commit": "allow"}})
		time.Sleep(time.Second)
		watching := second.open(id, "", "")
		first.send(id, "commit")
		watching.until("done")
		time.Sleep(time.Second)
		assert.Len(t, first.plugin.seen(), 1)
		assert.Empty(t, second.plugin.seen(), "it only watches")

		first.rpc.Close()
		first.host.Close(t.Context())
		time.Sleep(time.Second)
		second.send(id, "commit")
		watching.until("done")
		assert.Len(t, second.plugin.seen(), 1, "now it is its own")
		watching.close()
	})
}
