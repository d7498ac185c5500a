package ui

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
)

// maxWatched is how many sessions are watched at most, lookEvery how often.
const (
	maxWatched = 500
	lookEvery  = time.Second / 2
)

// outlook is how the sessions are, as all UIs see it that watch them: a look costs
// milliseconds, so they have theirs in common.
type outlook struct {
	mu sync.Mutex
	at time.Time // of the last look
	view
}

// view is what one look has seen.
type view struct {
	number   uint64         // counts the changes: the same number is the same view
	sessions []copilot.Info // those in which something happened last
	all      bool           // there are no others
	watchers map[string]int // how many UIs are attached to each
}

// look gives a view that is not older than that, and never one from before another
// that was given.
func (a *API) look(ctx context.Context, age time.Duration) (view, error) {
	o := &a.outlook
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.at.IsZero() && time.Since(o.at) < age {
		return o.view, nil
	}
	list, next, err := a.options.Host.Sessions(ctx, "", maxWatched)
	if err != nil {
		return view{}, err
	}
	v := view{o.number, list, next == "", a.watchers()}
	if len(list) > maxWatched {
		v.sessions, v.all = list[:maxWatched], false
	}
	if o.number == 0 || v.all != o.all || !slices.Equal(v.sessions, o.sessions) || !maps.Equal(v.watchers, o.watchers) {
		v.number++
	}
	o.at, o.view = time.Now(), v
	return v, nil
}
