package page

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/jobs"
)

// The notifications about all sessions.
const (
	notifyChanged = "portal.session.changed"
	notifyRemoved = "portal.session.removed"
)

// watchedSession is a session in a watched list.
type watchedSession struct {
	ui.Session
	Watchers int    `json:"watchers"` // UIs that are attached to it
	Project  string `json:"project"`  // its repository, otherwise its directory
	CanFork  bool   `json:"can_fork"` // its agent can
}

// sessionWatch is what a UI knows of all sessions.
type sessionWatch struct {
	known  map[string]watchedSession // as sent last, by id
	number uint64                    // of the view that was sent last
}

// watchSessions is portal.sessions.watch. A second call replaces the first watch.
func (n *connection) watchSessions(ctx context.Context, r *jsonrpc.Request) (any, error) {
	if _, err := n.replaceWatch(ctx, allSessions, nil); err != nil {
		return nil, err
	}
	now, err := n.pollSessions(ctx, 0)
	if err != nil {
		return nil, err
	}
	w := &sessionWatch{known: map[string]watchedSession{}, number: now.number}
	list := n.differs(w, now)
	if err := n.startWatch(ctx, r, allSessions, func(ctx context.Context) { n.reportChanges(ctx, w) }); err != nil {
		return nil, err
	}
	return map[string]any{"sessions": list}, nil
}

// describe returns a session of a view as watched lists have it.
func (n *connection) describe(i copilot.Info, v sessionView, project string) watchedSession {
	return watchedSession{ui.DescribeSession(i), v.watchers[i.ID], project, n.host().AgentCan(i.Agent, agent.Forking)}
}

// differs updates what the UI knows, and returns the sessions that have changed.
func (n *connection) differs(w *sessionWatch, v sessionView) []watchedSession {
	news := []watchedSession{}
	for _, i := range v.sessions {
		now := n.describe(i, v, v.projects[i.Directory])
		if before, known := w.known[i.ID]; !known || before != now {
			w.known[i.ID] = now
			news = append(news, now)
		}
	}
	return news
}

// gone forgets the sessions that are no longer in the view, and returns those that were removed.
// When there are more sessions than a view has, some are only too old now; sessions of jobs may
// always be. An old session that was pinned may be unpinned now, or removed: it stays known until that is clear.
func (w *sessionWatch) gone(v sessionView) (removed, unpinned []string) {
	if len(v.sessions) == len(w.known) {
		return nil, nil
	}
	here := make(map[string]bool, len(v.sessions))
	for _, i := range v.sessions {
		here[i.ID] = true
	}
	for id, s := range w.known {
		if here[id] {
			continue
		}
		switch {
		case s.Origin != jobs.Origin && (v.all || s.Updated > event.FormatTime(v.sessions[len(v.sessions)-1].Changed)):
			removed = append(removed, id)
		case s.Pinned:
			unpinned = append(unpinned, id)
			continue
		}
		delete(w.known, id)
	}
	return removed, unpinned
}

// reportChanges sends changes until ctx ends.
func (n *connection) reportChanges(ctx context.Context, w *sessionWatch) {
	every := time.NewTicker(pollEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		now, err := n.pollSessions(ctx, pollEvery-pollEvery/10)
		if err != nil {
			n.api.options.Log.Debug("cannot list sessions for a UI", "err", err) // the next attempt may succeed
			continue
		}
		if n.report(ctx, w, now) != nil {
			return // the connection ends
		}
	}
}

// report sends the difference between a view and what the UI knows.
func (n *connection) report(ctx context.Context, w *sessionWatch, now sessionView) error {
	if now.number == w.number {
		return nil
	}
	w.number = now.number
	for _, s := range n.differs(w, now) {
		if err := n.client.Notify(ctx, notifyChanged, map[string]any{"session": s}); err != nil {
			return err
		}
	}
	removed, unpinned := w.gone(now)
	for _, id := range unpinned {
		s, err := n.host().Session(ctx, id)
		if err != nil && !errors.Is(err, fault.ErrSessionNotFound) {
			w.number = 0 // the next poll tries again
			continue
		}
		delete(w.known, id)
		if err != nil {
			removed = append(removed, id)
			continue
		}
		left := n.describe(s.Info(), now, copilot.ProjectOf(s.Info().Directory))
		if err := n.client.Notify(ctx, notifyChanged, map[string]any{"session": left}); err != nil {
			return err
		}
	}
	for _, id := range removed {
		if err := n.client.Notify(ctx, notifyRemoved, oneSession{id}); err != nil {
			return err
		}
	}
	return nil
}
