package page

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/jobs"
)

// maxWatched is how many sessions are watched at most, maxOfJobs how many of the last
// are so that work for jobs, pollEvery how often.
const (
	maxWatched = 500
	maxOfJobs  = 100
	pollEvery  = time.Second / 2
)

// sessionPoll is how the sessions are, as all UIs see it that watch them: a look costs
// milliseconds, so they have theirs in common.
type sessionPoll struct {
	mu sync.Mutex
	at time.Time // of the last look
	sessionView
}

// sessionView is what one look has seen.
type sessionView struct {
	number   uint64         // counts the changes: the same number is the same view
	sessions []copilot.Info // those in which something happened last
	all      bool           // there are no others
	watchers map[string]int // how many UIs are attached to each
}

// pollSessions gives a view that is not older than that, and never one from before another
// that was given.
func (n *connection) pollSessions(ctx context.Context, age time.Duration) (sessionView, error) {
	o := &n.api.sessionPoll
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.at.IsZero() && time.Since(o.at) < age {
		return o.sessionView, nil
	}
	list, all, err := n.listWatched(ctx)
	if err != nil {
		return sessionView{}, err
	}
	v := sessionView{o.number, list, all, n.client.Watchers()}
	if o.number == 0 || v.all != o.all || !slices.Equal(v.sessions, o.sessions) || !maps.Equal(v.watchers, o.watchers) {
		v.number++
	}
	o.at, o.sessionView = time.Now(), v
	return v, nil
}

// listWatched gives the sessions that are watched; all if there are no others but of jobs,
// which have so many that they would leave no room.
func (n *connection) listWatched(ctx context.Context) (list []copilot.Info, all bool, err error) {
	list, next, err := n.host().Sessions(ctx, "", maxWatched, jobs.Origin)
	if err != nil {
		return nil, false, err
	}
	list, all = list[:min(len(list), maxWatched)], next == "" && len(list) <= maxWatched
	last, _, err := n.host().Sessions(ctx, "", maxOfJobs)
	if err != nil {
		return nil, false, err
	}
	known := make(map[string]bool, len(list))
	for _, i := range list {
		known[i.ID] = true
	}
	last = slices.DeleteFunc(last, func(i copilot.Info) bool { return i.Origin != jobs.Origin || known[i.ID] })
	return append(last[:min(len(last), maxOfJobs)], list...), all, nil
}
