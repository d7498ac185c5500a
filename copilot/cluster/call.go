package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/ipc"
)

// request is a call between the processes of the cluster.
type request struct {
	From string // process
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
	data, err := json.Marshal(request{n.process, path, body})
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching := make(chan struct{})
	defer func() { <-watching }()
	defer cancel()
	go func() {
		defer close(watching)
		n.cancelWhenGone(ctx, process, cancel)
	}()
	data, err = n.log.Request(ctx, process, uuid.NewString(), data)
	switch {
	case errors.Is(err, ErrNobody):
		return 0, nil, ipc.ErrUnreachable
	case err != nil:
		return 0, nil, err
	}
	var r response
	err = json.Unmarshal(data, &r)
	return r.Status, r.Body, err
}

// cancelWhenGone cancels a call when its process is no member any more.
func (n *Node) cancelWhenGone(ctx context.Context, process string, cancel context.CancelFunc) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for n.IsMember(process) {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
	cancel()
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
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go n.cancelWhenGone(ctx, q.From, cancel)
		r.Status, r.Body = answer(ctx, q.Path, q.Body)
	}
	data, _ = json.Marshal(r) // JSON always encodes
	return data
}
