package ui_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

func TestHistoryDuringReloadIsSafe(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		kept, err := store.Open(t.Context(), store.Options{Directory: directory})
		require.NoError(t, err)
		p := uitest.New(t, uitest.Options{Host: copilot.Options{Store: kept, MaxClosed: 1, Limits: copilot.Limits{Idle: time.Minute}}})
		defer p.Agents.Close()
		u := p.Able()
		var sessions []string
		for range 3 {
			r := u.Ask("portal.session.start", document{})
			u.Prompt("a")
			sessions = append(sessions, r["session_id"].(string))
		}
		synctest.Wait()
		time.Sleep(10 * time.Minute) // they rest
		w := p.Able()
		for range 30 {
			w.Ask("portal.session.start", document{})
			w.Prompt("b") // which drops one when it rests
			time.Sleep(2 * time.Minute)
			for _, s := range sessions {
				u.Say("session.history", document{"session_id": s})
			}
		}
		synctest.Wait()
		close(u.In)
		<-u.Done
		p.Host.Close(t.Context())
		require.NoError(t, kept.Close())
	})
}
