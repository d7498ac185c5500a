package ui_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/ui"
)

// begun is a session that nobody looks at.
func (p *portal) begun() *copilot.Session {
	p.Helper()
	s, err := p.host.Start(p.Context(), copilot.Start{Origin: "rest", Directory: "/", WithoutAgent: true})
	require.NoError(p, err)
	return s
}

// news is what was told of sessions since it was asked for last, a line each.
func (u *screen) news() (list []string) {
	u.Helper()
	for _, f := range u.raw() {
		p, _ := f["params"].(document)
		switch f["method"] {
		case "portal.session.changed":
			s, _ := p["session"].(document)
			list = append(list, fmt.Sprint(s["session_id"], " ", s["state"], " ", s["title"], " ", s["watchers"]))
		case "portal.session.removed":
			list = append(list, fmt.Sprint(p["session_id"], " removed"))
		}
	}
	u.heard()
	return list
}

func TestSessionsAreWatched(t *testing.T) {
	inTime(t, func(p *portal) {
		u, other := p.able(), p.able()
		first := p.begun()
		list, _ := u.ask("portal.sessions.watch", document{})["sessions"].([]any)
		require.Len(t, list, 1)
		s, _ := list[0].(document)
		assert.Equal(t, first.ID(), s["session_id"])
		assert.InDelta(t, 0, s["watchers"], 0)
		time.Sleep(time.Minute)
		assert.Empty(t, u.news(), "nothing happens, nothing is told")

		second := p.begun()
		require.NoError(t, first.Rename(p.Context(), "A name"))
		synctest.Wait()
		assert.Empty(t, u.news(), "not at once")
		time.Sleep(time.Second)
		assert.ElementsMatch(t, []string{second.ID() + " idle <nil> 0", first.ID() + " idle A name 0"}, u.news())

		other.ask("portal.session.attach", document{"session_id": first.ID()})
		time.Sleep(time.Second)
		assert.Equal(t, []string{first.ID() + " idle A name 1"}, u.news())
		other.ask("portal.session.detach", document{"session_id": first.ID()})
		require.NoError(t, p.host.Delete(p.Context(), second.ID()))
		time.Sleep(time.Second)
		assert.Equal(t, []string{first.ID() + " idle A name 0", second.ID() + " removed"}, u.news())
	})
}

func TestRunUpdatesAreThrottled(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = func(t *fake.Turn) {
			for range 100 {
				t.Say("on and on")
				time.Sleep(20 * time.Millisecond)
			}
		}
		u, s := p.able(), p.begun()
		u.ask("portal.sessions.watch", document{})
		_, err := s.Prompt(event.Prompt{Text: "go"})
		require.NoError(t, err)
		time.Sleep(1900 * time.Millisecond)
		news := u.news()
		assert.NotEmpty(t, news)
		assert.LessOrEqual(t, len(news), 4)
		for _, line := range news {
			assert.Contains(t, line, " running ")
		}
		time.Sleep(2 * time.Second)
		last := u.news()
		assert.Contains(t, last[len(last)-1], " idle ")
	})
}

func TestWatchingTwiceDoesNotDouble(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		u.ask("portal.sessions.watch", document{})
		u.frame(document{"jsonrpc": "2.0", "id": "a", "method": "portal.sessions.watch"})
		u.frame(document{"jsonrpc": "2.0", "id": "b", "method": "portal.sessions.watch"})
		synctest.Wait()
		u.heard()
		s := p.begun()
		time.Sleep(time.Second)
		assert.Equal(t, []string{s.ID() + " idle <nil> 0"}, u.news())
		u.ask("portal.sessions.watch", document{})
		time.Sleep(time.Second)
		assert.Empty(t, u.news(), "the answer has told it")
	})
}

func TestBatchMayWatchTwice(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		u.in <- []byte(`[{"jsonrpc":"2.0","id":1,"method":"portal.sessions.watch"},{"jsonrpc":"2.0","id":2,"method":"portal.sessions.watch"}]`)
		assert.Equal(t, []string{"ok", "ok"}, u.heard())
		s := p.begun()
		time.Sleep(time.Second)
		assert.Equal(t, []string{s.ID() + " idle <nil> 0"}, u.news())
	})
}

func TestWatchEndsWithItsUI(t *testing.T) {
	inTime(t, func(p *portal) {
		u, other := p.able(), p.able()
		s := p.begun()
		u.ask("portal.session.attach", document{"session_id": s.ID()})
		u.ask("portal.sessions.watch", document{})
		close(u.in)
		require.NoError(t, <-u.done)
		list, _ := other.ask("portal.sessions.watch", document{})["sessions"].([]any)
		seen, _ := list[0].(document)
		assert.InDelta(t, 0, seen["watchers"], 0, "it looks at nothing any more")
	})
}

func TestNewestSessionsAreWatched(t *testing.T) {
	const most = 500
	inTimeOf(t, copilot.Options{Limits: copilot.Limits{Sessions: 2 * most}}, func(p *portal) {
		old := p.begun()
		time.Sleep(time.Minute)
		for range most - 1 {
			p.begun()
		}
		u := p.able()
		list, _ := u.ask("portal.sessions.watch", document{})["sessions"].([]any)
		assert.Len(t, list, most)
		u.heard()
		time.Sleep(time.Minute)
		newest := p.begun()
		time.Sleep(time.Second)
		assert.Equal(t, []string{newest.ID() + " idle <nil> 0"}, u.news(), "the oldest is not removed, only too old")
		require.NoError(t, p.host.Delete(p.Context(), newest.ID()))
		time.Sleep(time.Second)
		assert.ElementsMatch(t, []string{newest.ID() + " removed", old.ID() + " idle <nil> 0"}, u.news())
	})
}

func TestSessionsOfJobsLeaveRoomForOthers(t *testing.T) {
	kept, err := store.Open(t.Context(), store.Options{Directory: t.TempDir()})
	require.NoError(t, err)
	defer kept.Close()
	p := &portal{T: t, agents: fake.New()}
	p.host = p.agents.NewHost(copilot.Options{Store: kept})
	p.ui = ui.New(ui.Options{Host: p.host, WorkDir: "/", Version: "1"})
	defer p.agents.Close()
	defer p.host.Close(t.Context())
	own := p.begun()
	require.NoError(t, own.Close())
	for range 600 {
		s, err := p.host.Start(t.Context(), copilot.Start{Origin: "job", Directory: "/", WithoutAgent: true})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	require.NoError(t, kept.Flush(t.Context()))
	u := p.open()
	u.say("portal.sessions.watch", document{})
	count := map[any]int{}
	require.Eventually(t, func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, f := range u.frames {
			r, _ := f["result"].(document)
			list, _ := r["sessions"].([]any)
			for _, one := range list {
				s, _ := one.(document)
				count[s["origin"]]++
			}
		}
		return len(count) > 0
	}, 10*time.Second, 10*time.Millisecond)
	assert.Equal(t, 1, count["rest"])
	assert.Positive(t, count["job"])
	assert.LessOrEqual(t, count["job"], 500)
}
