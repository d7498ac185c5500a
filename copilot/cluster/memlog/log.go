package memlog

import (
	"context"

	"github.com/copilot-portal/portal/copilot/cluster"
)

// Operation is what a node asks of the log.
type Operation struct {
	Name    string // of the method
	Subject string // or member, or object
	Run     func() (any, error)
}

// Log is a node's connection to a server. It implements [cluster.Log].
type Log struct {
	Server *Server

	// Gate decides what happens to an operation: it may run it never, once or twice, at any time, and return any error. Nil: each
	// runs once. It returns the result of Run.
	Gate func(context.Context, Operation) (any, error)

	// Batch returns how many messages are read at once, and how many of these were read before. Nil: 256, 0.
	Batch func() (limit, again int)
}

// do runs an operation.
func do[T any](ctx context.Context, l *Log, name, subject string, run func() (T, error)) (result T, err error) {
	if l.Gate == nil {
		return run()
	}
	x, err := l.Gate(ctx, Operation{name, subject, func() (any, error) { return run() }})
	result, _ = x.(T)
	return result, err
}

// Append implements [cluster.Log].
func (l *Log) Append(ctx context.Context, subject string, expect uint64, id string, data []byte) (uint64, error) {
	return do(ctx, l, "Append", subject, func() (uint64, error) { return l.Server.append(subject, expect, id, data) })
}

// Last implements [cluster.Log].
func (l *Log) Last(ctx context.Context) (uint64, error) {
	return do(ctx, l, "Last", "", func() (uint64, error) { return l.Server.Last(), nil })
}

// Read implements [cluster.Log].
func (l *Log) Read(ctx context.Context, after uint64, handle func([]cluster.Message) error) error {
	for {
		if err := l.Server.await(ctx, func() bool { return l.Server.last > after }); err != nil {
			return err
		}
		batch, err := do(ctx, l, "Read", "", func() ([]cluster.Message, error) {
			limit, again := 256, 0
			if l.Batch != nil {
				limit, again = l.Batch()
			}
			return l.Server.after(after-min(after, uint64(again)), limit+again), nil
		})
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			continue
		}
		if err := handle(batch); err != nil {
			return err
		}
		after = max(after, batch[len(batch)-1].Sequence)
	}
}

// Purge implements [cluster.Log].
func (l *Log) Purge(ctx context.Context, subject string, before uint64) error {
	_, err := do(ctx, l, "Purge", subject, func() (any, error) { l.Server.purge(subject, before); return nil, nil })
	return err
}

// Announce implements [cluster.Log].
func (l *Log) Announce(ctx context.Context, member string, state []byte) error {
	_, err := do(ctx, l, "Announce", member, func() (any, error) { l.Server.announce(member, state); return nil, nil })
	return err
}

// Watch implements [cluster.Log].
func (l *Log) Watch(ctx context.Context, heard func(member string, state []byte)) error {
	for seen := 0; ; {
		if err := l.Server.await(ctx, func() bool { return l.Server.revision > seen }); err != nil {
			return err
		}
		list, err := do(ctx, l, "Watch", "", func() ([]announcement, error) { return l.Server.announced(seen), nil })
		if err != nil {
			return err
		}
		for _, a := range list {
			heard(a.member, a.state)
			seen = a.revision
		}
	}
}

// Put implements [cluster.Log].
func (l *Log) Put(ctx context.Context, name string, data []byte) error {
	_, err := do(ctx, l, "Put", name, func() (any, error) { l.Server.put(name, data); return nil, nil })
	return err
}

// Get implements [cluster.Log].
func (l *Log) Get(ctx context.Context, name string) ([]byte, error) {
	return do(ctx, l, "Get", name, func() ([]byte, error) { return l.Server.get(name) })
}

// Objects implements [cluster.Log].
func (l *Log) Objects(ctx context.Context) ([]cluster.Object, error) {
	return do(ctx, l, "Objects", "", func() ([]cluster.Object, error) { return l.Server.list(), nil })
}

// Delete implements [cluster.Log].
func (l *Log) Delete(ctx context.Context, name string) error {
	_, err := do(ctx, l, "Delete", name, func() (any, error) { l.Server.remove(name); return nil, nil })
	return err
}

// Request implements [cluster.Log].
func (l *Log) Request(ctx context.Context, member, _ string, data []byte) ([]byte, error) {
	answered, err := do(ctx, l, "Request", member, func() (<-chan []byte, error) { return l.Server.request(member, data) })
	if err != nil {
		return nil, err
	}
	select {
	case answer := <-answered:
		return do(ctx, l, "Answer", member, func() ([]byte, error) { return answer, nil })
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Serve implements [cluster.Log].
func (l *Log) Serve(ctx context.Context, member string, answer func(context.Context, []byte) []byte) error {
	return l.Server.serve(ctx, member, answer)
}
