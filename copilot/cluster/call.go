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
			return c.wait(ctx)
		}
		defer func() { c.end(data) }()
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

// maxCalls is how many calls are remembered, so that none has its effect twice.
const maxCalls = 4096

// calls are the latest calls to this process.
type calls struct {
	mu    sync.Mutex
	known map[string]*call
	order []string // ids, oldest first
}

// call is a call to this process.
type call struct {
	done   chan struct{}
	answer []byte // valid once done is closed
}

// begin returns the call with an id; first is true if it is new.
func (s *calls) begin(id string) (c *call, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c = s.known[id]; c != nil {
		return c, false
	}
	c = &call{done: make(chan struct{})}
	s.known[id] = c
	if s.order = append(s.order, id); len(s.order) > maxCalls {
		delete(s.known, s.order[0])
		s.order = s.order[1:]
	}
	return c, true
}

// maxAnswer is the maximum size of an answer that is remembered.
const maxAnswer = 4 << 10

func (c *call) end(answer []byte) {
	if len(answer) <= maxAnswer {
		c.answer = answer
	}
	close(c.done)
}

// wait returns the answer of a call that came twice; nil: it is not known any more.
func (c *call) wait(ctx context.Context) []byte {
	select {
	case <-c.done:
		return c.answer
	case <-ctx.Done():
		return nil
	}
}
