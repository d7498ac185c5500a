package page_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

// news returns the changes of sessions since the last call, a line each.
func news(u *screen) (list []string) {
	u.Helper()
	for _, f := range u.Raw() {
		p, _ := f["params"].(document)
		switch f["method"] {
		case "portal.session.changed":
			s, _ := p["session"].(document)
			list = append(list, fmt.Sprint(s["session_id"], " ", s["state"], " ", s["title"], " ", s["watchers"]))
		case "portal.session.removed":
			list = append(list, fmt.Sprint(p["session_id"], " removed"))
		}
	}
	u.Heard()
	return list
}

func TestWatchedSessionsSayWhetherTheyCanFork(t *testing.T) {
	for _, can := range [][]agent.Capability{{}, {agent.Forking}} {
		uitest.InTime(t, uitest.Options{Host: copilot.Options{Capabilities: func() []agent.Capability { return can }}}, func(p *portal) {
			u := p.Able()
			p.Begun()
			list, _ := u.Ask("portal.sessions.watch", document{})["sessions"].([]any)
			require.Len(t, list, 1)
			s, _ := list[0].(document)
			assert.Equal(t, len(can) > 0, s["can_fork"])
		})
	}
}

func TestSessionsAreWatched(t *testing.T) {
	inTime(t, func(p *portal) {
		u, other := p.Able(), p.Able()
		first := p.Begun()
		list, _ := u.Ask("portal.sessions.watch", document{})["sessions"].([]any)
		require.Len(t, list, 1)
		s, _ := list[0].(document)
		assert.Equal(t, first.ID(), s["session_id"])
		assert.InDelta(t, 0, s["watchers"], 0)
		time.Sleep(time.Minute)
		assert.Empty(t, news(u), "no changes, no messages")

		second := p.Begun()
		require.NoError(t, first.Rename(p.Context(), "A name"))
		synctest.Wait()
		assert.Empty(t, news(u), "changes are delayed")
		time.Sleep(time.Second)
		assert.ElementsMatch(t, []string{second.ID() + " idle <nil> 0", first.ID() + " idle A name 0"}, news(u))

		other.Ask("portal.session.attach", document{"session_id": first.ID()})
		time.Sleep(time.Second)
		assert.Equal(t, []string{first.ID() + " idle A name 1"}, news(u))
		other.Ask("portal.session.detach", document{"session_id": first.ID()})
		require.NoError(t, p.Host.Delete(p.Context(), second.ID()))
		time.Sleep(time.Second)
		assert.Equal(t, []string{first.ID() + " idle A name 0", second.ID() + " removed"}, news(u))
	})
}

func TestRunUpdatesAreThrottled(t *testing.T) {
	inTime(t, func(p *portal) {
		p.Agents.Script = func(t *fake.Turn) {
			for range 100 {
				t.Say("on and on")
				time.Sleep(20 * time.Millisecond)
			}
		}
		u, s := p.Able(), p.Begun()
		u.Ask("portal.sessions.watch", document{})
		_, err := s.Prompt(event.Prompt{Text: "go"})
		require.NoError(t, err)
		time.Sleep(1900 * time.Millisecond)
		changes := news(u)
		assert.NotEmpty(t, changes)
		assert.LessOrEqual(t, len(changes), 4)
		for _, line := range changes {
			assert.Contains(t, line, " running ")
		}
		time.Sleep(2 * time.Second)
		last := news(u)
		assert.Contains(t, last[len(last)-1], " idle ")
	})
}

func TestWatchingTwiceDoesNotDouble(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		u.Ask("portal.sessions.watch", document{})
		u.Frame(document{"jsonrpc": "2.0", "id": "a", "method": "portal.sessions.watch"})
		u.Frame(document{"jsonrpc": "2.0", "id": "b", "method": "portal.sessions.watch"})
		synctest.Wait()
		u.Heard()
		s := p.Begun()
		time.Sleep(time.Second)
		assert.Equal(t, []string{s.ID() + " idle <nil> 0"}, news(u))
		u.Ask("portal.sessions.watch", document{})
		time.Sleep(time.Second)
		assert.Empty(t, news(u), "the answer contained it")
	})
}

func TestBatchMayWatchTwice(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		u.In <- []byte(`[{"jsonrpc":"2.0","id":1,"method":"portal.sessions.watch"},{"jsonrpc":"2.0","id":2,"method":"portal.sessions.watch"}]`)
		assert.Equal(t, []string{"ok", "ok"}, u.Heard())
		s := p.Begun()
		time.Sleep(time.Second)
		assert.Equal(t, []string{s.ID() + " idle <nil> 0"}, news(u))
	})
}

func TestWatchEndsWithItsUI(t *testing.T) {
	inTime(t, func(p *portal) {
		u, other := p.Able(), p.Able()
		s := p.Begun()
		u.Ask("portal.session.attach", document{"session_id": s.ID()})
		u.Ask("portal.sessions.watch", document{})
		close(u.In)
		require.NoError(t, <-u.Done)
		list, _ := other.Ask("portal.sessions.watch", document{})["sessions"].([]any)
		seen, _ := list[0].(document)
		assert.InDelta(t, 0, seen["watchers"], 0, "the disconnected UI no longer counts")
	})
}

func TestNewestSessionsAreWatched(t *testing.T) {
	const most = 500
	uitest.InTime(t, uitest.Options{Host: copilot.Options{Limits: copilot.Limits{Sessions: 2 * most}}}, func(p *portal) {
		old := p.Begun()
		time.Sleep(time.Minute)
		for range most - 1 {
			p.Begun()
		}
		u := p.Able()
		list, _ := u.Ask("portal.sessions.watch", document{})["sessions"].([]any)
		assert.Len(t, list, most)
		u.Heard()
		time.Sleep(time.Minute)
		newest := p.Begun()
		time.Sleep(time.Second)
		assert.Equal(t, []string{newest.ID() + " idle <nil> 0"}, news(u), "the oldest is not removed, only too old")
		require.NoError(t, p.Host.Delete(p.Context(), newest.ID()))
		time.Sleep(time.Second)
		assert.ElementsMatch(t, []string{newest.ID() + " removed", old.ID() + " idle <nil> 0"}, news(u))
	})
}

// storing returns a portal with a store, which are closed when the test ends.
func storing(t *testing.T) (*uitest.Portal, *store.Store) {
	t.Helper()
	kept, err := store.Open(t.Context(), store.Options{Directory: t.TempDir()})
	require.NoError(t, err)
	p := uitest.New(t, uitest.Options{Host: copilot.Options{Store: kept}})
	t.Cleanup(func() {
		p.Host.Close(context.WithoutCancel(t.Context()))
		p.Agents.Close()
		_ = kept.Close()
	})
	return p, kept
}

func TestJobSessionsDoNotDisplaceOthers(t *testing.T) {
	p, kept := storing(t)
	own := p.Begun()
	require.NoError(t, own.Close())
	for range 600 {
		s, err := p.Host.Start(t.Context(), copilot.Start{Origin: "job", Directory: "/", WithoutAgent: true})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	require.NoError(t, kept.Flush(t.Context()))
	u := p.Open()
	u.Say("portal.sessions.watch", document{})
	count := map[any]int{}
	require.Eventually(t, func() bool {
		for _, f := range u.Frames() {
			r, _ := f["result"].(document)
			list, _ := r["sessions"].([]any)
			for _, one := range list {
				s, _ := one.(document)
				count[s["origin"]]++
			}
		}
		return len(count) > 0
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, 1, count["rest"])
	assert.Positive(t, count["job"])
	assert.LessOrEqual(t, count["job"], 500)
}

func TestOldPinnedSessionIsWatched(t *testing.T) {
	p, kept := storing(t)
	yes, no := true, false
	old := p.Begun()
	require.NoError(t, old.Place(t.Context(), copilot.Placement{Pinned: &yes}))
	require.NoError(t, old.Close())
	require.NoError(t, kept.Flush(t.Context()))
	for range 500 {
		s, err := p.Host.Start(t.Context(), copilot.Start{Origin: "rest", Directory: "/", WithoutAgent: true})
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
	require.NoError(t, kept.Flush(t.Context()))
	u := p.Open()
	u.Say("portal.sessions.watch", document{})
	seen := func() (pinned, known bool) {
		for _, f := range u.Frames() {
			r, _ := f["result"].(document)
			params, _ := f["params"].(document)
			list, _ := r["sessions"].([]any)
			for _, one := range append(list, params["session"]) {
				if s, _ := one.(document); s["session_id"] == old.ID() {
					pinned, known = s["pinned"] == true, true
				}
			}
		}
		return pinned, known
	}
	require.Eventually(t, func() bool { pinned, known := seen(); return known && pinned }, time.Minute, 10*time.Millisecond)
	old, err := p.Host.Session(t.Context(), old.ID()) // a closed one may have left memory
	require.NoError(t, err)
	require.NoError(t, old.Place(t.Context(), copilot.Placement{Pinned: &no}))
	require.Eventually(t, func() bool { pinned, known := seen(); return known && !pinned }, time.Minute, 10*time.Millisecond)
}

func TestUnpinnedSessionThatCannotBeReadIsNotRemoved(t *testing.T) {
	p, kept := storing(t)
	begin := time.Now().Add(-time.Hour)
	write := func(l *store.Lease, err error, pinned bool, meta string) {
		require.NoError(t, err)
		require.NoError(t, l.Update(store.Session{Origin: "rest", Directory: "/", Changed: begin, Pinned: pinned, Meta: []byte(meta)}))
		require.NoError(t, l.Release(t.Context()))
	}
	l, err := kept.Create(t.Context(), store.Session{ID: "old"})
	write(l, err, true, `{"pinned":true}`)
	for i := range 500 {
		begin = begin.Add(time.Second)
		l, err := kept.Create(t.Context(), store.Session{ID: fmt.Sprint(i)})
		write(l, err, false, `{}`)
	}
	u := p.Open()
	await := func(want string) {
		require.Eventually(t, func() bool {
			return slices.ContainsFunc(u.Frames(), func(f document) bool {
				params, _ := f["params"].(document)
				s, _ := params["session"].(document)
				return f["method"] == "portal.session.changed" && fmt.Sprint(s["session_id"], " ", s["pinned"] == true) == want || f["result"] != nil && want == "list"
			})
		}, time.Minute, 10*time.Millisecond)
	}
	u.Say("portal.sessions.watch", document{})
	await("list")
	begin = begin.Add(-time.Hour)
	l, err = kept.Acquire(t.Context(), "old")
	write(l, err, false, `cannot be read`)
	for range 2 { // the list without the old one has been reported before the second one
		await(p.Begun().ID() + " false")
	}
	l, err = kept.Acquire(t.Context(), "old")
	write(l, err, false, `{}`)
	await("old false")
	assert.NotContains(t, fmt.Sprint(u.Frames()), "portal.session.removed")
}
