// Package jetstream is a cluster's log on NATS JetStream.
package jetstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/copilot-portal/portal/copilot/cluster"
)

// Options says how to reach the servers.
type Options struct {
	Servers     []string
	Name        string // of the cluster
	Node        string
	Credentials string // file; "": none
	CA          string // file with certificates; "": those of the system
	Cert, Key   string // files of the client's certificate; "": none
	Replicas    int    // of everything stored; default 1
	Log         *slog.Logger
}

// Log is a connection to the servers. It implements [cluster.Log]. The caller must close it.
type Log struct {
	options    Options
	connection *nats.Conn
	js         jetstream.JetStream
	prefix     string // of all subjects

	warnOnce      sync.Once
	announcements atomic.Pointer[jetstream.KeyValue] // nil: not looked up yet
}

// Connect connects to the servers. If none answers, the log goes on trying, and its methods fail meanwhile.
func Connect(o Options) (*Log, error) {
	return connect(o, nats.RetryOnFailedConnect(true))
}

// connect connects to the servers with more options than those for all connections.
func connect(o Options, more ...nats.Option) (*Log, error) {
	o.Replicas = cmp.Or(max(o.Replicas, 0), 1)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	connection, err := nats.Connect(strings.Join(o.Servers, ","), append(o.connection(), more...)...)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(connection)
	if err != nil {
		connection.Close()
		return nil, err
	}
	return &Log{options: o, connection: connection, js: js, prefix: "portal." + o.Name + "."}, nil
}

// connection returns the options of every connection.
func (o Options) connection() []nats.Option {
	options := []nats.Option{
		nats.Name("portal " + o.Node), nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1), // what waited here would be sent long after others have taken over
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2),
		nats.ReconnectWait(250 * time.Millisecond), nats.Timeout(2 * time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.Log.Debug("an error of the cluster's log", "error", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Log.Warn("the connection to the cluster's log is lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) { o.Log.Info("connected to the cluster's log", "server", c.ConnectedUrlRedacted()) }),
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	if o.CA != "" {
		options = append(options, nats.RootCAs(o.CA))
	}
	if o.Cert != "" {
		options = append(options, nats.ClientCert(o.Cert, o.Key))
	}
	return options
}

// Close ends the connection.
func (l *Log) Close() { l.connection.Close() }

// bucket returns the name of what belongs to the cluster on the servers.
func (l *Log) bucket(kind string) string { return "portal-" + l.options.Name + "-" + kind }

// stream returns the stream of all changes, and creates it at first.
func (l *Log) stream(ctx context.Context) (jetstream.Stream, error) {
	s, err := l.find(ctx)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	return l.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: l.bucket("log"), Subjects: []string{l.prefix + "log.>"}, Replicas: l.options.Replicas,
		Duplicates: 2 * time.Minute, AllowDirect: false, // direct reads may be old
		Description: "changes of the sessions of a cluster of portals",
	})
}

// find returns the stream of all changes, if there is one, as it is now.
func (l *Log) find(ctx context.Context) (jetstream.Stream, error) {
	s, err := untilAnswered(ctx, attemptTime, func(ctx context.Context) (jetstream.Stream, error) { return l.js.Stream(ctx, l.bucket("log")) })
	if err == nil && isCompressed(s) {
		l.warnOnce.Do(func() {
			l.options.Log.Warn("the servers compress the log, and may lose messages when they are killed", "hint", Uncompress(l.options.Name))
		})
	}
	return s, err
}

func isCompressed(s jetstream.Stream) bool {
	return s.CachedInfo().Config.Compression != jetstream.NoCompression
}

// Uncompress says how to change streams that the servers compress, as those of earlier versions: a server that is killed may lose messages.
func Uncompress(cluster string) string {
	return fmt.Sprintf("Run `nats stream edit --compression=none` for portal-%s-log and OBJ_portal-%s-objects.", cluster, cluster)
}

// attemptTime is how long a request waits for the answer of a server. One that has just lost its leader never gives it.
const attemptTime = time.Second

// untilAnswered repeats a request, which may have been executed, until it is answered or ctx ends. Each attempt has a limit.
func untilAnswered[T any](ctx context.Context, limit time.Duration, request func(context.Context) (T, error)) (T, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, limit)
		answer, err := request(attempt)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return answer, err
		}
	}
}

// wire returns the subject on the wire.
func (l *Log) wire(subject string) string {
	kind, id, _ := strings.Cut(subject, "/")
	return l.prefix + "log." + kind + "." + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// Codes of errors of the servers.
const (
	wrongSequence = 10071 // another message is the newest
	inProcess     = 10158 // an earlier attempt is in progress
	tryAgain      = 10164 // another append to the subject is in progress, or seems so
)

func code(err error) jetstream.ErrorCode {
	var failure jetstream.JetStreamError
	if errors.As(err, &failure) && failure.APIError() != nil {
		return failure.APIError().ErrorCode
	}
	return 0
}

// Append implements [cluster.Log]. A server that was killed may come back, and lead, without messages that were acknowledged. If the newest one
// about the subject is older than the one that is expected, this node has read what the servers have lost, so nobody has written since.
func (l *Log) Append(ctx context.Context, subject string, expect uint64, id string, data []byte) (uint64, error) {
	given := expect
	for {
		sequence, err := l.publish(ctx, subject, expect, id, data)
		switch {
		case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
			if _, err := l.stream(ctx); err != nil {
				return 0, err
			}
		case code(err) == wrongSequence:
			newest, own, err := l.newest(ctx, subject, id)
			if err != nil || own { // an earlier attempt has stored it
				return newest, err
			}
			if expect, err = l.expectNext(subject, given, expect, newest); err != nil {
				return 0, err
			}
		case code(err) != inProcess && code(err) != tryAgain:
			return sequence, err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// expectNext returns what an append that was refused expects next. The newest message may be the one that was expected: then the servers could
// not look.
func (l *Log) expectNext(subject string, given, expected, newest uint64) (uint64, error) {
	switch {
	case newest > expected || expected != given:
		return 0, cluster.ErrConflict
	case newest < expected:
		l.options.Log.Error("the servers of the cluster's log have lost messages that they had acknowledged", "subject", subject, "lost", expected, "newest", newest)
	}
	return newest, nil
}

// publish makes one attempt to append.
func (l *Log) publish(ctx context.Context, subject string, expect uint64, id string, data []byte) (uint64, error) {
	options := []jetstream.PublishOpt{jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0)}
	if expect != cluster.Any {
		options = append(options, jetstream.WithExpectLastSequencePerSubject(expect))
	}
	ack, err := untilAnswered(ctx, attemptTime, func(ctx context.Context) (*jetstream.PubAck, error) {
		return l.js.Publish(ctx, l.wire(subject), data, options...)
	})
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// newest returns the sequence of the newest message about a subject (0: there is none), and whether it has an id.
func (l *Log) newest(ctx context.Context, subject, id string) (sequence uint64, hasID bool, err error) {
	s, err := l.stream(ctx)
	if err != nil {
		return 0, false, err
	}
	m, err := s.GetLastMsgForSubject(ctx, l.wire(subject))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	return m.Sequence, m.Header.Get(jetstream.MsgIDHeader) == id, nil
}

// Last implements [cluster.Log]. It creates nothing.
func (l *Log) Last(ctx context.Context) (uint64, error) {
	s, err := l.find(ctx)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	info := s.CachedInfo()
	if info.Cluster != nil && info.Cluster.Leader == "" { // a server without the newest messages may have answered
		return 0, errors.New("the servers are choosing a leader")
	}
	return info.State.LastSeq, nil
}

// Read hands over at most readBatch messages at once, of about readSize bytes.
const (
	readBatch = 256
	readSize  = 1 << 20
)

// Read implements [cluster.Log].
func (l *Log) Read(ctx context.Context, after uint64, handle func([]cluster.Message) error) error {
	s, err := l.stream(ctx)
	if err != nil {
		return err
	}
	consumer, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1})
	if err != nil {
		return err
	}
	arrived := make(chan jetstream.Msg, readBatch)
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		select {
		case arrived <- m:
		case <-ctx.Done():
		}
	}, jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
		if !errors.Is(err, jetstream.ErrNoHeartbeat) { // the consumer restarts itself
			l.options.Log.Debug("an error while reading the cluster's log", "error", err)
		}
	}))
	if err != nil {
		return err
	}
	defer consuming.Stop()
	for {
		batch, err := next(ctx, arrived, consuming.Closed())
		if err != nil {
			return err
		}
		if err := handle(batch); err != nil {
			return err
		}
	}
}

// next returns the messages that have arrived, at least one.
func next(ctx context.Context, arrived <-chan jetstream.Msg, closed <-chan struct{}) ([]cluster.Message, error) {
	var batch []cluster.Message
	size := 0
	for {
		var m jetstream.Msg
		if len(batch) > 0 {
			select {
			case m = <-arrived:
			default:
				return batch, nil
			}
		} else {
			select {
			case m = <-arrived:
			case <-closed:
				return nil, errors.New("the cluster's log is not sent any more")
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		about, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		size += len(m.Data())
		if batch = append(batch, cluster.Message{Sequence: about.Sequence.Stream, Data: m.Data()}); len(batch) == readBatch || size >= readSize {
			return batch, nil
		}
	}
}

// Purge implements [cluster.Log].
func (l *Log) Purge(ctx context.Context, subject string, before uint64) error {
	s, err := l.stream(ctx)
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(l.wire(subject)), jetstream.WithPurgeSequence(before))
}

// Put implements [cluster.Log].
func (l *Log) Put(ctx context.Context, name string, data []byte) error {
	o, err := l.objects(ctx)
	if err != nil {
		return err
	}
	_, err = o.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(data))
	return err
}

// Get implements [cluster.Log].
func (l *Log) Get(ctx context.Context, name string) ([]byte, error) {
	o, err := l.objects(ctx)
	if err != nil {
		return nil, err
	}
	r, err := o.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	defer r.Close() //nolint:errcheck // reading has an error of its own
	data, err := io.ReadAll(r)
	if errors.Is(err, jetstream.ErrDigestMismatch) {
		err = fmt.Errorf("object %s: %w", name, cluster.ErrDamaged)
	}
	return data, err
}

// Objects implements [cluster.Log].
func (l *Log) Objects(ctx context.Context) (list []cluster.Object, err error) {
	o, err := l.objects(ctx)
	if err != nil {
		return nil, err
	}
	infos, err := o.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	for _, i := range infos {
		list = append(list, cluster.Object{Name: i.Name, Stored: i.ModTime})
	}
	return list, err
}

// Delete implements [cluster.Log].
func (l *Log) Delete(ctx context.Context, name string) error {
	o, err := l.objects(ctx)
	if err != nil {
		return err
	}
	if err = o.Delete(ctx, name); errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil // another node was faster
	}
	return err
}

func (l *Log) objects(ctx context.Context) (jetstream.ObjectStore, error) {
	o, err := l.js.ObjectStore(ctx, l.bucket("objects"))
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return o, err
	}
	return l.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: l.bucket("objects"), Replicas: l.options.Replicas})
}
