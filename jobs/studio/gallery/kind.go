package gallery

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/fault"
)

// maxItems is how many interfaces are listed at most.
const maxItems = 1000

var errNotFound = fault.Errorf(fault.NotFound, "no such interface: it was deleted, or belongs to another portal")

// kind describes interfaces to their log: the lead is the description, entry n the code of version n.
func kind() activity.Kind[Item, []byte] {
	return activity.Kind[Item, []byte]{
		Name: "interface", Entry: "version", Lead: 1,
		ID: func(i *Item) *string { return &i.ID }, Created: func(i Item) time.Time { return i.Created },
		Ended: func(Item) time.Time { return time.Time{} }, Count: func(i Item) uint64 { return uint64(len(i.Versions)) },
		Encode:   func(code []byte) ([]byte, error) { return code, nil },
		Decode:   func(_ uint64, code []byte) ([]byte, error) { return code, nil },
		NotFound: errNotFound,
	}
}

// description reads that of an interface.
func (h *Host) description(ctx context.Context, id string) ([]byte, error) {
	return first(h.log.Lines(ctx, id, 0, 1))
}

// source reads the code of a version.
func (h *Host) source(ctx context.Context, id string, version int) ([]byte, error) {
	return first(h.log.Entries(ctx, id, uint64(version-1), 1)) //nolint:gosec // at least 1
}

func first(list [][]byte, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, errNotFound
	}
	return list[0], nil
}
