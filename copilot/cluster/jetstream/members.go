package jetstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/copilot-portal/portal/copilot/cluster"
)

// forgetAfter is how long an announcement is kept.
const forgetAfter = time.Minute

// members returns the bucket of the announcements, and creates it at first.
func (l *Log) members(ctx context.Context) (jetstream.KeyValue, error) {
	if b := l.announcements.Load(); b != nil {
		return *b, nil
	}
	b, err := l.js.KeyValue(ctx, l.bucket("members"))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		b, err = l.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: l.bucket("members"), TTL: forgetAfter, Replicas: l.options.Replicas, Storage: jetstream.MemoryStorage,
		})
	}
	if err == nil {
		l.announcements.Store(&b)
	}
	return b, err
}

// Announce implements [cluster.Log].
func (l *Log) Announce(ctx context.Context, member string, state []byte) error {
	b, err := l.members(ctx)
	if err != nil {
		return err
	}
	if len(state) == 0 {
		return b.Delete(ctx, member)
	}
	if _, err = b.Put(ctx, member, state); err != nil {
		l.announcements.Store(nil) // the servers may have lost it
	}
	return err
}

// Watch implements [cluster.Log].
func (l *Log) Watch(ctx context.Context, heard func(member string, state []byte)) error {
	b, err := l.members(ctx)
	if err != nil {
		return err
	}
	w, err := b.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer w.Stop() //nolint:errcheck // the context ends it, too
	for {
		select {
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return errors.New("the announcements of the cluster are not sent any more")
			case e == nil: // the newest of all have been sent
			case e.Operation() == jetstream.KeyValuePut:
				heard(e.Key(), e.Value())
			default:
				heard(e.Key(), nil)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Headers of requests.
const (
	headerID     = "Portal-Request"
	headerCancel = "Portal-Cancel"
)

func (l *Log) address(member string) string { return l.prefix + "call." + member }

// repeatAfter is how long a request to a member waits for its answer before it is sent again.
const repeatAfter = 3 * time.Second

// Request implements [cluster.Log]. A connection that ends can lose the request or its answer, so it is sent until it is
// answered; the member executes it once. When ctx ends first, the member is told to give up.
func (l *Log) Request(ctx context.Context, member, id string, data []byte) ([]byte, error) {
	q := &nats.Msg{Subject: l.address(member), Reply: l.connection.NewInbox(), Data: data, Header: nats.Header{headerID: {id}}}
	answers, err := l.connection.SubscribeSync(q.Reply)
	if err != nil {
		return nil, err
	}
	defer answers.Unsubscribe() //nolint:errcheck // the connection may be closed
	delivered := false          // perhaps
	answer, err := untilAnswered(ctx, repeatAfter, func(attempt context.Context) (answer *nats.Msg, err error) {
		for err = l.connection.PublishMsg(q); ; err = nil { // an earlier attempt may still be answered
			if err == nil {
				answer, err = answers.NextMsgWithContext(attempt)
			}
			switch {
			case !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, nats.ErrReconnectBufExceeded):
				delivered = true
				return answer, err
			case !delivered:
				return nil, cluster.ErrNobody
			}
		}
	})
	switch {
	case err == nil:
		return answer.Data, nil
	case delivered && ctx.Err() != nil:
		_ = l.connection.PublishMsg(&nats.Msg{Subject: q.Subject, Header: nats.Header{headerCancel: {id}}}) // it may be gone
	}
	return nil, err
}

// Serve implements [cluster.Log].
func (l *Log) Serve(ctx context.Context, member string, answer func(context.Context, []byte) []byte) error {
	arrived := make(chan *nats.Msg, 1024)
	s, err := l.connection.ChanSubscribe(l.address(member), arrived)
	if err != nil {
		return err
	}
	defer s.Unsubscribe() //nolint:errcheck // the connection may be closed
	var work sync.WaitGroup
	defer work.Wait()
	var open sync.Map // functions that cancel what is being answered, by ids
	for {
		select {
		case m := <-arrived:
			if id := m.Header.Get(headerCancel); id != "" {
				value, _ := open.Load(id)
				if cancel, ok := value.(context.CancelFunc); ok {
					cancel()
				}
				continue
			}
			id := m.Header.Get(headerID)
			answering, cancel := context.WithCancel(ctx)
			if _, again := open.LoadOrStore(id, cancel); again {
				cancel()
				continue
			}
			work.Go(func() {
				defer cancel()
				defer open.Delete(id)
				_ = m.Respond(answer(answering, m.Data)) // the caller may be gone
			})
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
