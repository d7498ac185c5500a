package soak_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// session is a session that one dialect uses and all watch.
type session struct {
	id       string
	by       dialect
	host     *host
	watchers []*watcher
	prompts  int
	accepted []sent
}

// sent is a prompt that the portal accepted.
type sent struct {
	tag string // a word of it
	at  testclock.Clock
}

func newSession(h *host, by dialect, id string) *session {
	s := &session{id: id, by: by, host: h}
	for _, d := range dialects() {
		s.watchers = append(s.watchers, newWatcher(h, d, id))
	}
	return s
}

// scripts are what the prompts ask of the scripted model: thoughts, an even stream, a burst, commands that need permission.
var scripts = []string{
	"%s: think, then 150 tokens in 3 s",
	"%s: run `echo heron`, then say `It flies.`",
	"%s: 400 tokens",
	"%s: wait 500 ms, run `sleep 1; echo pond`, then 40 tokens in 1 s",
}

// drive sends prompts until ctx ends, each after the run of the one before, and a last one that nothing disturbs.
func (s *session) drive(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		s.send(ctx, n)
	}
	s.send(context.WithoutCancel(ctx), 0)
}

// betweenPrompts limits the runs of a session in half an hour to those that one history of a UI can have (1,000).
const betweenPrompts = time.Second

// send sends a prompt. A refused one is sent again; one without an answer may have been accepted, so the next one follows.
func (s *session) send(ctx context.Context, n int) {
	for wait(ctx, betweenPrompts) {
		s.prompts++
		tag := fmt.Sprintf("%.8s-%d", s.id, s.prompts)
		err := s.by.prompt(context.WithoutCancel(ctx), s.host, s.id, fmt.Sprintf(scripts[n%len(scripts)], tag))
		if err == nil {
			s.accepted = append(s.accepted, sent{tag, testclock.Now()})
			s.awaitEnd(ctx, tag)
		}
		if !errors.Is(err, errRefused) {
			return
		}
	}
}

// awaitEnd waits until the run of a prompt has ended. It gives up after a minute, because a killed portal may not have stored
// the prompt.
func (s *session) awaitEnd(ctx context.Context, tag string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	i := slices.IndexFunc(s.watchers, func(w *watcher) bool { return w.name == "`/stream`" })
	s.watchers[i].await(ctx, func(facts []string) bool {
		at := slices.IndexFunc(facts, func(f string) bool { return strings.HasPrefix(f, "prompt ") && strings.Contains(f, " "+tag+":") })
		if at < 0 {
			return false
		}
		end := "end " + strings.Fields(facts[at])[1] + " "
		return slices.ContainsFunc(facts[at:], func(f string) bool { return strings.HasPrefix(f, end) })
	})
}

// awaitCaughtUp waits until the session is idle and its watchers have seen its last events.
func (s *session) awaitCaughtUp(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for wait(ctx, 100*time.Millisecond) {
		if states, err := s.host.states(ctx); err == nil && states[s.id] == "idle" {
			break
		}
	}
	r, err := s.host.export(ctx, s.id)
	require.NoError(t, err)
	for _, w := range s.watchers {
		want := r.facts(w.fact)
		last := want[max(0, len(want)-3):]
		for w.awaitProgress(t.Context(), last) {
		}
	}
}

// awaitProgress waits until the last facts of a watcher are these. It reports whether they are not, but others have arrived: `live` sends one
// event with each call, so it may be far behind.
func (w *watcher) awaitProgress(ctx context.Context, last []string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	before, now := -1, 0
	caughtUp := w.await(ctx, func(facts []string) bool {
		if before < 0 {
			before = len(facts)
		}
		now = len(facts)
		return slices.Equal(last, facts[max(0, len(facts)-3):])
	})
	return !caughtUp && now > before
}

// states returns the states of all sessions.
func (h *host) states(ctx context.Context) (map[string]string, error) {
	var r struct {
		Sessions []struct{ SessionID, State string }
	}
	err := h.get(ctx, "/api/copilot/session", &r)
	states := map[string]string{}
	for _, one := range r.Sessions {
		states[one.SessionID] = one.State
	}
	return states, err
}

// openAndDelete opens sessions, uses each once and deletes it, until ctx ends. It returns the ids of those that the portal says are deleted.
func openAndDelete(ctx context.Context, h *host, dir string) (deleted []string) {
	for wait(ctx, 500*time.Millisecond) {
		ctx := context.WithoutCancel(ctx)
		id, err := openREST(ctx, h, dir)
		if err != nil {
			continue
		}
		if promptREST(ctx, h, id, "say `hello`") == nil {
			awaitIdle(ctx, h, id)
		}
		if h.delete(ctx, id) {
			deleted = append(deleted, id)
		}
	}
	return deleted
}

// delete deletes a session, also while the portal restarts. It reports whether the first request succeeded: if the CLI or the
// portal is killed meanwhile, the CLI's copy of the conversation may remain.
func (h *host) delete(ctx context.Context, id string) (complete bool) {
	for try := 0; try < 100; try++ {
		answer, err := h.request(ctx, "DELETE", "/api/copilot/session/"+id, "")
		if err == nil {
			return try == 0 && string(answer) == "{}"
		}
		wait(ctx, 250*time.Millisecond)
	}
	return false
}

// awaitIdle reads a session until its run ends or the connection is lost.
func awaitIdle(ctx context.Context, h *host, id string) {
	for {
		var r portaltest.Response
		if h.get(ctx, "/api/copilot/session/"+id+"/live", &r) != nil || r.Name() == "onIdle" || r.Text("error") != "" && r.Text("error") != "HttpRequestTimeout" {
			return
		}
	}
}
