package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// How often objects that nobody needs are looked for, and their least age: an object is stored before the change that names it, which may wait
// on a node that is cut off.
const (
	sweepEvery = time.Hour
	sweepAge   = 24 * time.Hour
)

// Object is a large object beside the log.
type Object struct {
	Name   string // see [store.ObjectName]
	Stored time.Time
}

// sweep deletes the objects that nobody needs.
func (n *Node) sweep(ctx context.Context) {
	if err := n.trySweep(ctx); err != nil {
		n.options.Log.Info("objects of deleted sessions remain in the cluster for another hour", "error", err)
	}
}

func (n *Node) trySweep(ctx context.Context) error {
	if err := n.CatchUp(ctx); err != nil { // otherwise it may not know a session yet
		return err
	}
	list, err := n.log.Objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range list {
		if time.Since(o.Stored) < sweepAge {
			continue
		}
		if err := n.sweepObject(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}

// sweepObject deletes an object unless it may be needed. Those of older versions do not say by what.
func (n *Node) sweepObject(ctx context.Context, object string) error {
	subject, _ := store.SplitObject(object)
	kind, id := store.SplitSubject(subject)
	if id == "" {
		return nil
	}
	x, err := n.store.Progress(ctx, subject)
	if err != nil {
		return err
	}
	head, err := n.find(ctx, kind, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		// The node that removed it may have stopped before it purged its messages, and a node that reads the log from the start could not
		// read those whose objects are deleted.
		if err := n.purgeSubject(ctx, subject, x.Sequence); err != nil {
			return err
		}
	case err != nil || kind != "session" || n.options.Needs == nil || n.options.Needs(head, object):
		return err
	}
	return n.log.Delete(ctx, object)
}

// find returns a session, or nothing of an activity that exists.
func (n *Node) find(ctx context.Context, kind, id string) (head store.Session, err error) {
	if kind == "session" {
		return n.store.Session(ctx, id)
	}
	_, err = n.store.Activity(ctx, kind, id)
	return head, err
}
