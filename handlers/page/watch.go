package page

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// The keys of watches, by what they report.
const (
	allSessions = "sessions"
	allJobs     = "jobs"
)

func jobKey(id string) string       { return "job " + id }
func interfaceKey(id string) string { return "interface " + id }

// watch is a goroutine that sends what changes: in the list of sessions, in the list of
// jobs, in a job or in an interface.
type watch struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the watch sends nothing more
}

// replaceWatch makes w the watch of a key, or removes it if w is nil. It cancels the
// previous one and returns when that sends nothing more. before is false if there was none.
func (n *connection) replaceWatch(ctx context.Context, key string, w *watch) (before bool, err error) {
	n.mu.Lock()
	old := n.watches[key]
	if w == nil {
		delete(n.watches, key)
	} else {
		n.watches[key] = w
	}
	n.mu.Unlock()
	if old == nil {
		return false, nil
	}
	old.cancel()
	select {
	case <-old.done:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

// startWatch replaces the watch of a key by one that runs report. That starts after the
// response to r, unless another watch has the key by then.
func (n *connection) startWatch(ctx context.Context, r *jsonrpc.Request, key string, report func(context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{cancel: cancel, done: make(chan struct{})}
	if _, err := n.replaceWatch(ctx, key, w); err != nil {
		cancel()
		close(w.done)
		return err
	}
	begin := make(chan struct{})
	n.work.Go(func() {
		defer n.endWatch(key, w)
		select {
		case <-begin:
			report(ctx)
		case <-ctx.Done():
		}
	})
	r.After(func() { close(begin) })
	return nil
}

func (n *connection) endWatch(key string, w *watch) {
	n.mu.Lock()
	if n.watches[key] == w {
		delete(n.watches, key)
	}
	n.mu.Unlock()
	w.cancel()
	close(w.done)
}

// retryPause is how long a watch waits before it reads again what it could not read.
const retryPause = 3 * time.Second

// retry returns a [follow.Reader.Retry]: only what is unavailable may come back.
func (n *connection) retry(of string) func(error) time.Duration {
	return func(err error) time.Duration {
		if fault.KindOf(err) != fault.Unavailable {
			return 0
		}
		n.api.options.Log.Debug("cannot read for a UI; the next attempt follows", "of", of, "err", err)
		return retryPause
	}
}
