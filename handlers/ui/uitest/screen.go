package uitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing/synctest"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// Screen is a connected UI. It records what it receives. All messages must fit spec/ui.schema.json.
type Screen struct {
	*Portal
	In   chan []byte // frames to the portal; closing it ends the input
	Done chan error  // receives the result of Serve

	talks *contract.Conversation

	gone chan struct{} // closed when the portal hangs up
	last int           // the id of the newest request

	mu     sync.Mutex
	frames []Document
	asked  map[string]any // by method: the id of the newest request of the portal
	reads  chan struct{}  // closed while the UI reads
}

// Open connects a UI. It is disconnected with the end of the test.
func (p *Portal) Open() *Screen {
	p.Helper()
	return p.OpenAs(ui.Client{})
}

// OpenAs connects a UI as a client.
func (p *Portal) OpenAs(client ui.Client) *Screen {
	p.Helper()
	u := &Screen{
		Portal: p, talks: contract.Talk(p, "/ui"), In: make(chan []byte, 10_000), Done: make(chan error, 1),
		gone: make(chan struct{}), asked: map[string]any{}, reads: make(chan struct{}),
	}
	close(u.reads)
	ctx, cancel := context.WithCancel(p.Context())
	carrier := jsonrpc.Frames{Receive: u.receive, Send: u.sendAll, Hangup: sync.OnceValue(func() error { close(u.gone); return nil })}
	go func() { u.Done <- p.UI.Serve(ctx, carrier, client) }()
	p.Cleanup(cancel)
	return u
}

func (u *Screen) receive() ([]byte, error) {
	select {
	case frame, ok := <-u.In:
		if !ok {
			return nil, io.EOF
		}
		u.talks.Sent(frame)
		return frame, nil
	case <-u.gone:
		return nil, io.ErrClosedPipe
	}
}

func (u *Screen) sendAll(frames ...[]byte) error {
	for _, frame := range frames {
		if err := u.send(frame); err != nil {
			return err
		}
	}
	return nil
}

func (u *Screen) send(frame []byte) error {
	u.mu.Lock()
	reads := u.reads
	u.mu.Unlock()
	select {
	case <-reads:
	case <-u.gone:
		return io.ErrClosedPipe
	}
	u.talks.Received(frame)
	if frame[0] != '[' {
		frame = append(append([]byte{'['}, frame...), ']')
	}
	var all []Document // of a batch, or the one
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
}

// MaySendInvalid allows the UI to send what spec/ui.schema.json forbids, from now on.
func (u *Screen) MaySendInvalid() { u.talks.MaySendInvalid() }

// StopReading makes the UI read nothing until ReadAgain.
func (u *Screen) StopReading() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reads = make(chan struct{})
}

// ReadAgain ends what StopReading began.
func (u *Screen) ReadAgain() {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.reads)
}

// Able connects a UI that declares every capability of spec/contracts/ui-protocol.md,
// "4.2 Capabilities", and more.
func (p *Portal) Able(more ...string) *Screen {
	p.Helper()
	u := p.Open()
	can := Document{"supports_confirm": true, "supports_prompt": true, "supports_pick": true}
	for _, m := range more {
		can[m] = true
	}
	u.Ask("initialize", Document{"protocol_version": "0", "client": Document{"name": "test", "version": "1"}, "ui_capabilities": can})
	u.Heard()
	return u
}

// Say sends a request and does not wait.
func (u *Screen) Say(method string, params any) (id string) {
	u.Helper()
	u.last++
	id = fmt.Sprint(u.last)
	u.Frame(Document{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return id
}

// Frame sends a message.
func (u *Screen) Frame(d Document) {
	u.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		u.Fatal(err)
	}
	u.In <- text
}

// Reply answers the newest request of this method that the portal has sent.
func (u *Screen) Reply(method string, result any) {
	u.Helper()
	synctest.Wait()
	id := u.Asked(method)
	if id == nil {
		u.Fatalf("no %s", method)
	}
	u.Frame(Document{"jsonrpc": "2.0", "id": id, "result": result})
	synctest.Wait()
}

// Asked returns the id of the newest request of this method that the portal has sent.
func (u *Screen) Asked(method string) any {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked[method]
}

// Ask sends a request and returns the result, or the members of the error.
func (u *Screen) Ask(method string, params any) (result Document) {
	u.Helper()
	id := u.Say(method, params)
	synctest.Wait()
	for _, f := range u.Frames() {
		if f["id"] == id && f["method"] == nil {
			if e, _ := f["error"].(Document); e != nil {
				return Document{"code": int(e["code"].(float64)), "message": e["message"], "data": e["data"]} //nolint:errcheck // it panics in a test
			}
			d, _ := f["result"].(Document)
			return d
		}
	}
	u.Fatalf("no answer to %s", method)
	return nil
}

// Prompt starts a run and returns its id and its session.
func (u *Screen) Prompt(prompt string) (run, session string) {
	u.Helper()
	r := u.Ask("run.start", Document{"input": Document{"type": "text", "text": prompt}})
	run, _ = r["run_id"].(string)
	session, _ = r["session_id"].(string)
	if run == "" {
		u.Fatalf("no run: %v", r)
	}
	return run, session
}

// Heard returns everything received since the last call, a line each as of [Line].
func (u *Screen) Heard() []string {
	synctest.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	list := make([]string, 0, len(u.frames))
	for _, f := range u.frames {
		list = append(list, Line(f))
	}
	u.frames = nil
	return list
}

// Raw returns everything received since the last call of Heard, once all goroutines wait.
func (u *Screen) Raw() []Document {
	synctest.Wait()
	return u.Frames()
}

// Frames returns everything received since the last call of Heard.
func (u *Screen) Frames() []Document {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Document{}, u.frames...)
}
