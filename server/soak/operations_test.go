package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/copilot-portal/portal/copilot/testclock"
)

// operations starts one operation after another. Two clients watch each over /ws.
type operations struct {
	*testing.T

	host    *host
	dir     string
	visitor string // the session id of the contract
	ended   map[string]int
	used    []usedOperation

	mu      sync.Mutex
	verdict verdict
}

type operationMessage struct {
	ID       string
	Sequence int
	Type     string
	Content  string
}

// watchersPerOperation is the number of clients of each operation.
const watchersPerOperation = 2

func (o *operations) drive(ctx context.Context) {
	o.verdict.dialect, o.verdict.clients, o.ended = "operations, `/ws`", watchersPerOperation, map[string]int{}
	for wait(ctx, 200*time.Millisecond) {
		ctx := context.WithoutCancel(ctx)
		if id := o.start(ctx); id != "" {
			o.use(ctx, id)
		}
	}
}

// start starts an operation. It returns "" while the portal restarts.
func (o *operations) start(ctx context.Context) (id string) {
	if o.visitor == "" {
		var v struct {
			ID string `json:"session_id"`
		}
		_ = o.host.post(ctx, "/api/v1/auth/verify", "", &v)
		o.visitor = v.ID
	}
	body := fmt.Sprintf(`{"type": "prompt", "model": "demo", "working_directory": %q, "prompt": "think, run `+"`echo heron`, say `A line.`"+`, then 60 tokens in 2 s"}`, o.dir)
	var r struct {
		ID string `json:"operation_id"`
	}
	_ = o.host.post(ctx, "/api/v1/operations", body, &r, "X-Session-ID", o.visitor)
	return r.ID
}

// use watches an operation to its end and compares what each client received with what is stored.
func (o *operations) use(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	received := make([][][]piece[operationMessage], watchersPerOperation)
	for i := range received {
		all.Go(func() { received[i] = o.watch(ctx, id) })
	}
	all.Wait()
	var stored struct {
		Messages []operationMessage
		Status   string
	}
	for wait(ctx, 250*time.Millisecond) {
		if o.get(ctx, "/api/v1/operations/"+id+"/messages?after=-1", &stored) == nil {
			break
		}
	}
	o.ended[stored.Status]++
	o.used = append(o.used, usedOperation{id, received, stored.Messages})
	if !slices.ContainsFunc(stored.Messages, func(m operationMessage) bool { return m.Type == "complete" }) {
		o.verdict.faults = append(o.verdict.faults, fmt.Sprintf("operation %s is %q and has no end", id, stored.Status))
		o.verdict.lost++
	}
}

func (o *operations) get(ctx context.Context, path string, result any) error {
	text, err := o.host.request(ctx, "GET", path, "", "X-Session-ID", o.visitor)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// watch reads the messages of an operation and continues after each loss.
func (o *operations) watch(ctx context.Context, id string) (conns [][]piece[operationMessage]) {
	for last := -1; ; {
		more, err := o.read(ctx, fmt.Sprintf("/ws?operation_id=%s&session_id=%s&last_received_sequence=%d", id, o.visitor, last))
		conns = append(conns, more)
		if len(more) > 0 {
			last = more[len(more)-1].units[0].Sequence
		}
		if websocket.IsCloseError(err, websocket.CloseNormalClosure) || !wait(ctx, 250*time.Millisecond) {
			return conns
		}
		o.mu.Lock()
		o.verdict.reconnects++
		o.mu.Unlock()
	}
}

func (o *operations) read(ctx context.Context, path string) (all []piece[operationMessage], err error) {
	conn, err := o.host.socket(ctx, path)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	for {
		var m operationMessage
		if err := conn.ReadJSON(&m); err != nil {
			return all, err
		}
		if m.Type != "system" {
			all = append(all, piece[operationMessage]{[]operationMessage{m}, testclock.Now()})
		}
	}
}

// outcomes lists how operations ended.
func (o *operations) outcomes() string { return counted(o.ended) }

func counted(of map[string]int) (text string) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		text += fmt.Sprintf(", %d %s", of[name], name)
	}
	return text[min(2, len(text)):]
}

// usedOperation is what the clients of an operation received, and what is stored of it.
type usedOperation struct {
	id       string
	received [][][]piece[operationMessage] // by client and connection
	stored   []operationMessage
}

// compare compares what was received with what is stored. Messages are stored before they are sent, so a kill loses none.
func (o *operations) compare() {
	for _, used := range o.used {
		for _, conns := range used.received {
			o.verdict.add(place(conns, used.stored, o.host.wasCutOff, nil).in("operation " + used.id))
			for _, list := range conns {
				o.verdict.events += len(list)
			}
		}
	}
}
