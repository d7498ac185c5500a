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

// maxWatched limits the watched sessions; maxOfJobs and maxPinned limit those of them that work for jobs, and pinned ones that are
// older than these. pollEvery is the interval of polls.
const (
	maxWatched = 500
	maxOfJobs  = 100
	maxPinned  = 100
	pollEvery  = time.Second / 2
)

// sessionPoll is the last list of sessions. A poll takes milliseconds, so all UIs share it.
type sessionPoll struct {
	mu sync.Mutex
	at time.Time // of the last poll
	sessionView
}

// sessionView is the result of one poll.
type sessionView struct {
	number   uint64         // counts the changes: equal numbers mean equal views
	sessions []copilot.Info // the newest change first
	all      bool           // there are no more
	watchers map[string]int // the number of attached UIs, by session
	projects projects       // of the directories of the sessions; not modified
}

// projects are the repositories of directories, otherwise the directories themselves.
type projects map[string]string

// extended returns the projects of the directories of sessions. It looks for the repository of each directory once, because a poll must not
// wait for a slow file system twice a second; the list shows a repository that was created later after a restart.
func (p projects) extended(sessions []copilot.Info) projects {
	now := make(projects, len(p))
	for _, i := range sessions {
		root, known := p[i.Directory]
		if !known {
			root = copilot.ProjectOf(i.Directory)
		}
		now[i.Directory] = root
	}
	return now
}

// pollSessions returns a view that is no older than age and no older than any returned before.
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
	v := sessionView{o.number, list, all, n.client.Watchers(), o.projects.extended(list)}
	if o.number == 0 || v.all != o.all || !slices.Equal(v.sessions, o.sessions) || !maps.Equal(v.watchers, o.watchers) {
		v.number++
	}
	o.at, o.sessionView = time.Now(), v
	return v, nil
}

// listWatched returns the watched sessions; all if there are no more of them. Sessions of jobs, and pinned ones,
// have limits of their own, because they would displace the others, and do not count for all.
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
	pinned, err := n.host().Pinned(ctx, maxPinned)
	if err != nil { // a file of an older version that cannot be written, perhaps: the newest ones are above
		n.api.options.Log.Debug("cannot list pinned sessions", "err", err)
	}
	known := make(map[string]bool, len(list))
	for _, i := range list {
		known[i.ID] = true
	}
	last = slices.DeleteFunc(last, func(i copilot.Info) bool { return i.Origin != jobs.Origin || known[i.ID] })
	last = last[:min(len(last), maxOfJobs)]
	for _, i := range last {
		known[i.ID] = true
	}
	pinned = slices.DeleteFunc(pinned, func(i copilot.Info) bool { return known[i.ID] })
	return slices.Concat(last, pinned, list), all, nil
}
