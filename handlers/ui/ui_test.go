package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/ui"
)

type document = map[string]any

// portal is the dialect over scripted agents, in virtual time.
type portal struct {
	*testing.T
	agents *fake.Agents
	host   *copilot.Host
	ui     *ui.API
}

func inTime(t *testing.T, test func(*portal)) {
	t.Helper()
	inTimeWith(t, ui.Options{}, test)
}

func inTimeWith(t *testing.T, o ui.Options, test func(*portal)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &portal{T: t, agents: fake.New()}
		p.host = p.agents.NewHost(copilot.Options{})
		o.Host, o.WorkDir, o.Version = p.host, "/", "1"
		p.ui = ui.New(o)
		defer p.agents.Close()
		defer p.host.Close(t.Context())
		test(p)
	})
}

// screen is a UI.
type screen struct {
	*portal
	in     chan []byte
	mu     sync.Mutex
	frames []document
	asked  map[string]any // by method: the id of the newest request of the portal
	done   chan error
	last   int
}

// open connects a UI. Its end is that of the test.
func (p *portal) open() *screen {
	p.Helper()
	return p.openAs(ui.Client{})
}

func (p *portal) openAs(client ui.Client) *screen {
	p.Helper()
	u := &screen{portal: p, asked: map[string]any{}, in: make(chan []byte, 10_000), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(p.Context())
	var hangup sync.Once
	gone := make(chan struct{})
	carrier := jsonrpc.Frames{
		Receive: func() ([]byte, error) {
			select {
			case frame, ok := <-u.in:
				if !ok {
					return nil, io.EOF
				}
				return frame, nil
			case <-gone:
				return nil, io.ErrClosedPipe
			}
		},
		Send: func(frame []byte) error {
			if frame[0] != '[' {
				frame = append(append([]byte{'['}, frame...), ']')
			}
			var all []document // of a batch, or the one
			if err := json.Unmarshal(frame, &all); err != nil {
				return err
			}
			u.mu.Lock()
			defer u.mu.Unlock()
			for _, d := range all {
				u.frames = append(u.frames, d)
				if method, ok := d["method"].(string); ok && d["id"] != nil {
					u.asked[method] = d["id"]
				}
			}
			return nil
		},
		Hangup: func() error { hangup.Do(func() { close(gone) }); return nil },
	}
	go func() { u.done <- p.ui.Serve(ctx, carrier, client) }()
	p.Cleanup(cancel)
	return u
}

// able is a UI that declares every capability of spec/contracts/ui-protocol.md, "4.2 Capabilities".
func (p *portal) able(more ...string) *screen {
	p.Helper()
	u := p.open()
	can := document{"supports_confirm": true, "supports_prompt": true, "supports_pick": true}
	for _, m := range more {
		can[m] = true
	}
	u.ask("initialize", document{"protocol_version": "0", "client": document{"name": "test"}, "ui_capabilities": can})
	u.heard()
	return u
}

// say sends a request and does not wait.
func (u *screen) say(method string, params any) (id string) {
	u.Helper()
	u.last++
	id = fmt.Sprint(u.last)
	u.frame(document{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id
}

func (u *screen) frame(d document) {
	u.Helper()
	text, err := json.Marshal(d)
	require.NoError(u, err)
	u.in <- text
}

// reply answers the newest request of this method that the portal has sent.
func (u *screen) reply(method string, result any) {
	u.Helper()
	synctest.Wait()
	u.mu.Lock()
	id := u.asked[method]
	u.mu.Unlock()
	require.NotNil(u, id, "no %s", method)
	u.frame(document{"jsonrpc": "2.0", "id": id, "result": result})
	synctest.Wait()
}

// ask sends a request and gives what answers it.
func (u *screen) ask(method string, params any) (result document) {
	u.Helper()
	id := u.say(method, params)
	synctest.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range u.frames {
		if f["id"] == id && f["method"] == nil {
			if e, _ := f["error"].(document); e != nil {
				return document{"code": int(e["code"].(float64)), "message": e["message"], "data": e["data"]}
			}
			d, _ := f["result"].(document)
			return d
		}
	}
	require.Fail(u, "no answer", "%s", method)
	return nil
}

// run begins a run and gives its id and its session.
func (u *screen) run(prompt string) (run, session string) {
	u.Helper()
	r := u.ask("run.start", document{"input": document{"type": "text", "text": prompt}})
	require.Contains(u, r, "run_id", r)
	return r["run_id"].(string), r["session_id"].(string)
}

// heard is everything that has come, a line each, and forgets it.
func (u *screen) heard() []string {
	synctest.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	list := make([]string, 0, len(u.frames))
	for _, f := range u.frames {
		list = append(list, line(f))
	}
	u.frames = nil
	return list
}

// raw is everything that has come.
func (u *screen) raw() []document {
	synctest.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]document{}, u.frames...)
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// line is a message in short: a response is "ok" or "error <code>", an event its
// number, type and what there is to read.
func line(f document) string {
	p, _ := f["params"].(document)
	text := func(d document, names ...string) string {
		var parts []string
		for _, n := range names {
			if v, ok := d[n]; ok && v != "" {
				parts = append(parts, uuids.ReplaceAllString(fmt.Sprint(v), "…"))
			}
		}
		return strings.Join(parts, " ")
	}
	switch f["method"] {
	case nil:
		if e, _ := f["error"].(document); e != nil {
			return fmt.Sprint("error ", e["code"])
		}
		return "ok"
	case "agent.event":
		e, _ := p["event"].(document)
		return strings.TrimSpace(fmt.Sprint(p["seq"], " ", text(e, "type", "step_number", "title", "target", "tool", "status", "content", "result", "diff", "ending")))
	case "run.status":
		return strings.TrimSpace("status " + text(p, "status", "message"))
	}
	return strings.TrimSpace(fmt.Sprint(f["method"]) + " " + text(p, "title", "message", "name", "context_left_percent"))
}
