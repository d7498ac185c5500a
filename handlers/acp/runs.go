package acp

import (
	"sync"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// errDetached is the error of a prompt whose editor no longer follows the session.
var errDetached = fault.Errorf(fault.Busy, "the session was closed or loaded again before the prompt was answered")

// ownRun is a run whose prompt the editor has sent and that has not been answered.
type ownRun struct {
	request string // the id of the request
	ended   chan runEnd
}

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
}

// start starts a run and registers it in one step, so that whoever reads its first event knows that it is registered.
func (o *ownRuns) start(request string, prompt func() (run string, err error)) (*ownRun, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id, err := prompt()
	if err != nil {
		return nil, err
	}
	if o.pending == nil {
		o.pending = map[string]*ownRun{}
	}
	r := &ownRun{request, make(chan runEnd, 1)}
	o.pending[id] = r
	return r, nil
}

func (o *ownRuns) has(run string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pending[run] != nil
}

func (o *ownRuns) end(run string, how runEnd) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.pending[run]; r != nil {
		delete(o.pending, run)
		r.ended <- how
	}
}

func (o *ownRuns) endAll(how runEnd) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.pending {
		r.ended <- how
	}
	clear(o.pending)
}

// ofRequest returns the runs of a request, or for "" all.
func (o *ownRuns) ofRequest(request string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var ids []string
	for id, r := range o.pending {
		if request == "" || r.request == request {
			ids = append(ids, id)
		}
	}
	return ids
}
