package ui_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/ui"
)

func TestHistoryDuringReloadIsSafe(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		kept, err := store.Open(t.Context(), store.Options{Directory: directory})
		require.NoError(t, err)
		p := &portal{T: t, agents: fake.New()}
		defer p.agents.Close()
		p.host = p.agents.NewHost(copilot.Options{Store: kept, MaxClosed: 1, Limits: copilot.Limits{Idle: time.Minute}})
		p.ui = ui.New(ui.Options{Host: p.host, WorkDir: "/", Version: "1"})
		u := p.able()
		var sessions []string
		for range 3 {
			r := u.ask("portal.session.start", document{})
			u.run("a")
			sessions = append(sessions, r["session_id"].(string))
		}
		synctest.Wait()
		time.Sleep(10 * time.Minute) // they rest
		w := p.able()
		for range 30 {
			w.ask("portal.session.start", document{})
			w.run("b") // which drops one when it rests
			time.Sleep(2 * time.Minute)
			for _, s := range sessions {
				u.say("session.history", document{"session_id": s})
			}
		}
		synctest.Wait()
		close(u.in)
		<-u.done
		p.host.Close(t.Context())
		require.NoError(t, kept.Close())
	})
}
