package cluster

import (
	"context"
	"errors"
	"path"
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
	Name   string // "<subject>/<name>"
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
		if time.Since(o.Stored) < sweepAge || n.needs(ctx, o.Name) {
			continue
		}
		if err := n.log.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}

// needs reports whether an object may be needed. Those of older versions do not say by what.
func (n *Node) needs(ctx context.Context, object string) bool {
	kind, id := store.SplitSubject(path.Dir(object))
	switch {
	case id == "":
		return true
	case kind == "session":
		head, err := n.store.Session(ctx, id)
		if err != nil || n.options.Needs == nil {
			return !errors.Is(err, store.ErrNotFound)
		}
		return n.options.Needs(head, object)
	}
	_, err := n.store.Activity(ctx, kind, id)
	return !errors.Is(err, store.ErrNotFound)
}
