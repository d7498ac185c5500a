package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/copilot-portal/portal/copilot/cluster"
)

// Dial connects to the servers, and unlike [Connect] fails if none answers or lets it in.
func Dial(o Options) (*Log, error) { return connect(o, nats.Timeout(dialTime)) }

// dialTime is how long each server may take to let a client in.
const dialTime = 5 * time.Second

// Announced returns what the processes of the cluster have said about themselves in the last minute.
func (l *Log) Announced(ctx context.Context) ([]cluster.Announcement, error) {
	return untilAnswered(ctx, listTime, l.announced)
}

// listTime is how long an attempt to list the announcements may take.
const listTime = 5 * time.Second

func (l *Log) announced(ctx context.Context) (list []cluster.Announcement, err error) {
	b, err := l.js.KeyValue(ctx, l.bucket("members"))
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	w, err := b.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer w.Stop() //nolint:errcheck // the context ends it, too
	for {
		select {
		case e, ok := <-w.Updates():
			if !ok {
				return nil, cmp.Or(ctx.Err(), errors.New("the servers do not send the announcements of the cluster"))
			}
			if e == nil { // nil follows the newest of all
				slices.SortFunc(list, func(a, b cluster.Announcement) int { return strings.Compare(a.Node, b.Node) })
				return list, nil
			}
			a := cluster.Announcement{Process: e.Key(), Heard: e.Created()}
			if json.Unmarshal(e.Value(), &a.State) == nil {
				list = append(list, a)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Servers is what a client sees of the servers.
type Servers struct {
	Connected  string // address of the one that answers
	MaxPayload int64  // of a message, in bytes
	JetStream  error  // why it cannot be used; nil: it can
	Replicas   int    // of the cluster's log; 0: there is none yet
	Compressed bool   // the servers compress that log
	List       []Server
}

// Server is one of the servers.
type Server struct {
	Name      string `json:"name"`
	Version   string `json:"ver"`
	JetStream bool   `json:"jetstream"`
}

// Inspect returns what can be seen of the servers.
func (l *Log) Inspect(ctx context.Context) (Servers, error) {
	s := Servers{Connected: l.connection.ConnectedUrlRedacted(), MaxPayload: l.connection.MaxPayload()}
	_, s.JetStream = l.js.AccountInfo(ctx)
	if s.JetStream == nil {
		log, err := l.js.Stream(ctx, l.bucket("log"))
		switch {
		case err == nil:
			s.Replicas, s.Compressed = max(1, log.CachedInfo().Config.Replicas), isCompressed(log)
		case !errors.Is(err, jetstream.ErrStreamNotFound):
			return s, err
		}
	}
	var err error
	s.List, err = l.servers(ctx)
	return s, err
}

// How long each further server may take to answer, until there are as many as the cluster needs, and then.
const (
	answerTime = 5 * time.Second
	moreTime   = 2 * time.Second
)

// nextAnswer returns the answer of another server, after some have answered.
func (l *Log) nextAnswer(ctx context.Context, answers *nats.Subscription, some int) (*nats.Msg, error) {
	limit := answerTime
	if some >= l.options.Replicas {
		limit = moreTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return answers.NextMsgWithContext(ctx)
}

// servers asks all servers about the connections of this account, because every user may, for what they say about themselves.
func (l *Log) servers(ctx context.Context) (list []Server, err error) {
	inbox := l.connection.NewRespInbox()
	answers, err := l.connection.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer answers.Unsubscribe() //nolint:errcheck // the connection may be closed
	if err := l.connection.PublishRequest("$SYS.REQ.ACCOUNT.PING.CONNZ", inbox, []byte(`{"limit":1}`)); err != nil {
		return nil, err
	}
	for {
		m, err := l.nextAnswer(ctx, answers, len(list))
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrNoResponders):
			return nil, err
		case err != nil:
			slices.SortFunc(list, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
			return list, nil
		}
		var answer struct{ Server Server }
		if json.Unmarshal(m.Data, &answer) == nil && answer.Server.Name != "" {
			list = append(list, answer.Server)
		}
	}
}
