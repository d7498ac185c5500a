package acp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// errDetached is the error of a prompt whose editor no longer follows the session.
var errDetached = fault.Errorf(fault.Busy, "the session was closed or loaded again before the prompt was answered")

// ownRun is a run whose prompt the editor has sent and that has not been answered.
type ownRun struct {
	request  string // the id of the request
	ended    chan runEnd
	answered chan struct{} // closed when the response to a prompt that did not fail is queued
}

// waitAnswered waits until the response is queued, so that updates of later runs follow it. A prompt that failed, or is part of a batch, has
// no such time; then it waits long enough.
func (r *ownRun) waitAnswered(ctx context.Context) {
	select {
	case <-r.answered:
	case <-time.After(longAnswer):
	case <-ctx.Done():
	}
}

// longAnswer is longer than it takes to queue a response.
const longAnswer = 100 * time.Millisecond

// runEnd is how a run ended.
type runEnd struct {
	outcome event.Outcome
	reason  string
	err     error // why the end is unknown, or the error that the run failed with
}

// ownRuns are the runs of an editor in one session. It is safe for concurrent use.
type ownRuns struct {
	mu      sync.Mutex
	pending map[string]*ownRun // by run
	over    bool               // no more can start
}

// start starts a run and registers it in one step, so that whoever reads its first event knows that it is registered.
func (o *ownRuns) start(request string, prompt func() (run string, err error)) (*ownRun, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return nil, errDetached
	}
	id, err := prompt()
	if err != nil {
		return nil, err
	}
	if o.pending == nil {
		o.pending = map[string]*ownRun{}
	}
	r := &ownRun{request, make(chan runEnd, 1), make(chan struct{})}
	o.pending[id] = r
	return r, nil
}

func (o *ownRuns) has(run string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending[run] != nil
}

// end ends a run; it returns nil if the run is not one of the editor.
func (o *ownRuns) end(run string, how runEnd) *ownRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.pending[run]
	if r != nil {
		delete(o.pending, run)
		r.ended <- how
	}
	return r
}

// endAll ends all runs. No more can start.
func (o *ownRuns) endAll(how runEnd) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	for _, r := range o.pending {
		r.ended <- how
	}
	clear(o.pending)
}

// ids returns all runs.
func (o *ownRuns) ids() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.pending))
}

// ofRequest returns the run of a request.
func (o *ownRuns) ofRequest(request string) (run string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, r := range o.pending {
		if r.request == request {
			return id, true
		}
	}
	return "", false
}
