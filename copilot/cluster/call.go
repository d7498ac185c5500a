package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/ipc"
)

// request is a call between the processes of the cluster.
type request struct {
	ID   string
	From string // process; "": the caller is no member
	Path string
	Body json.RawMessage
}

// response is the answer to a call.
type response struct {
	Status int
	Body   json.RawMessage
}

// Call implements [ipc.Remote]. A call that does not return in time, or whose process is no member any more, may have had an effect.
func (n *Node) Call(ctx context.Context, process, path string, body []byte) (status int, answer []byte, err error) {
	n.mu.Lock()
	member := n.isHeard(process)
	n.counts.Requests++
	n.mu.Unlock()
	if !member {
		return 0, nil, ipc.ErrUnreachable
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { n.cancelWhenGone(ctx, process, cancel) })
	defer watching.Wait()
	defer cancel()
	r, err := send(ctx, n.log, process, request{From: n.process, Path: path, Body: body})
	if errors.Is(err, ErrNobody) {
		err = ipc.ErrUnreachable
	}
	return r.Status, r.Body, err
}

// send sends a request to a process, which answers its id once.
func send(ctx context.Context, log Log, process string, q request) (r response, err error) {
	q.ID = uuid.NewString()
	data, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	if data, err = log.Request(ctx, process, q.ID, data); err != nil {
		return r, err
	}
	err = json.Unmarshal(data, &r)
	return r, err
}

// cancelWhenGone cancels a call when its process has not been heard for long.
func (n *Node) cancelWhenGone(ctx context.Context, process string, cancel context.CancelFunc) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for n.hears(process) {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
	cancel()
}

func (n *Node) hears(process string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.isHeard(process)
}

// Others implements [ipc.Remote].
func (n *Node) Others() (list []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for process := range n.members {
		if n.isHeard(process) {
			list = append(list, process)
		}
	}
	return list
}

// Serve implements [ipc.Remote]. The node must have been started.
func (n *Node) Serve(ctx context.Context, answer func(ctx context.Context, path string, body []byte) (status int, result []byte)) {
	n.repeat(ctx, "serve the other nodes", func(ctx context.Context) error {
		return n.log.Serve(ctx, n.process, func(ctx context.Context, data []byte) []byte { return n.answer(ctx, data, answer) })
	})
}

func (n *Node) answer(ctx context.Context, data []byte, answer func(context.Context, string, []byte) (int, []byte)) []byte {
	var q request
	r := response{Status: http.StatusBadRequest}
	if json.Unmarshal(data, &q) == nil {
		n.update(func() { n.counts.Answers++ })
		c, first := n.calls.begin(q.ID)
		if !first { // the log has brought it again
			return n.calls.wait(ctx, c)
		}
		defer func() { n.calls.end(c, data) }()
		ctx, cancel := context.WithCancel(ctx)
		var watching sync.WaitGroup
		if q.From != "" {
			watching.Go(func() { n.cancelWhenGone(ctx, q.From, cancel) })
		}
		defer watching.Wait()
		defer cancel()
		if r.Status, r.Body = answer(ctx, q.Path, q.Body); r.Status == http.StatusNotFound {
			r.Body = nil // it is no JSON
		}
	}
	data, _ = json.Marshal(r) // JSON always encodes
	return data
}

// Calls that have ended are remembered, so that none that is sent again has its effect twice: the last maxCalls, and all of the
// last time called recently. The newest answers are kept, within maxAnswers bytes.
const (
	maxCalls   = 4096
	recently   = time.Minute
	maxAnswers = 16 << 20
)

// calls are the calls to this process that have not ended, and the latest ones that have.
type calls struct {
	mu    sync.Mutex
	known map[string]*call
	ended []*call // oldest first
	bare  int     // how many of them, from the oldest on, have no answer any more
	bytes int     // of the answers
}

// call is a call to this process.
type call struct {
	id     string
	done   chan struct{} // closed at its end
	at     time.Time     // of its end
	answer []byte
}

// begin returns the call with an id; first is true if it is new.
func (s *calls) begin(id string) (c *call, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c = s.known[id]; c != nil {
		return c, false
	}
	c = &call{id: id, done: make(chan struct{})}
	s.known[id] = c
	return c, true
}

// end ends a call with its answer, and forgets older ones.
func (s *calls) end(c *call, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.at, c.answer = time.Now(), answer
	close(c.done)
	s.ended, s.bytes = append(s.ended, c), s.bytes+len(answer)
	for ; s.bytes > maxAnswers; s.bare++ {
		s.bytes -= len(s.ended[s.bare].answer)
		s.ended[s.bare].answer = nil
	}
	for len(s.ended) > maxCalls && time.Since(s.ended[0].at) > recently {
		s.bytes -= len(s.ended[0].answer)
		delete(s.known, s.ended[0].id)
		s.ended, s.bare = s.ended[1:], max(0, s.bare-1)
	}
}

// wait returns the answer of a call that came twice; nil: it is not known any more.
func (s *calls) wait(ctx context.Context, c *call) []byte {
	select {
	case <-c.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return c.answer
	case <-ctx.Done():
		return nil
	}
}
