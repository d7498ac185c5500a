package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// Agent is a running program, as an [agent.Agent].
type Agent struct {
	agent.Limited

	driver *Driver
	link   *stdio.Link
	info   acp.InitializeResult // set before the agent is used

	work sync.WaitGroup // goroutines of conversations and of tools; see [Agent.start]

	mu            sync.Mutex
	stopped       bool
	conversations map[string]*conversation // by the agent's id
	tools         *toolServer              // nil until a client has tools
}

// methods are those that the agent calls.
func (a *Agent) methods() jsonrpc.Methods {
	return jsonrpc.Methods{
		"session/update":             {Handle: a.update, InOrder: true},
		"session/request_permission": {Begin: a.requestPermission},
		"fs/read_text_file":          {Begin: a.readFile},
		"fs/write_text_file":         {Begin: a.writeFile},
	}
}

func (a *Agent) initialize(ctx context.Context) error {
	p := acp.InitializeParams{
		ProtocolVersion: acp.Version,
		Client:          acp.Implementation{Name: "copilot-portal", Title: "Copilot Portal", Version: a.driver.options.Version},
	}
	if err := a.call(ctx, "initialize", p, &a.info); err != nil {
		return err
	}
	if a.info.ProtocolVersion != acp.Version {
		return fault.Errorf(fault.Unavailable, "it speaks version %d of the protocol, not %d", a.info.ProtocolVersion, acp.Version)
	}
	if method := a.driver.options.Auth; method != "" {
		return a.call(ctx, "authenticate", map[string]string{"methodId": method}, nil)
	}
	return nil
}

// version returns the version of the program, "" if unknown.
func (a *Agent) version() string {
	if a.info.Agent == nil {
		return ""
	}
	return a.info.Agent.Version
}

// call calls a method of the agent.
func (a *Agent) call(ctx context.Context, method string, params, result any) error {
	return a.explain(a.link.Peer.Call(ctx, method, params, result))
}

// Open opens a conversation, or resumes a saved one.
func (a *Agent) Open(ctx context.Context, o agent.Opening, sink agent.Sink) (agent.Conversation, error) {
	if err := a.Alive(ctx); err != nil {
		return nil, err
	}
	c := &conversation{agent: a, sink: sink, prefix: rand.Text(), directory: o.Directory}
	c.LimitedConversation = agent.LimitedConversation{Name: a.Name, Usable: c.usable}
	var others []string
	c.servers, others = a.servers(o.Servers)
	if err := c.offerTools(o.Tools); err != nil {
		return nil, err
	}
	resumed, err := c.open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.SetModel(ctx, o.Model); err != nil && resumed { // the agent has lost it
		c.fail(event.NewSessionError(err))
	} else if err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	c.reportLosses(o, resumed, others)
	return c, nil
}

// Forget deletes a conversation, if the agent can. If not, the portal forgets it and the error says so.
func (a *Agent) Forget(ctx context.Context, session string) error {
	if err := a.Alive(ctx); err != nil {
		return err
	}
	id, err := a.driver.saved.find(session)
	if err != nil || id == "" {
		return err
	}
	if a.info.Capabilities.Session.Delete == nil {
		err = a.Cannot("delete its own copy of the conversation, which has the id " + id)
	} else {
		err = a.call(ctx, "session/delete", sessionID{id}, nil)
	}
	return errors.Join(err, a.driver.saved.forget(session))
}

// Models lists the models. The first time, that takes a session without prompts, because the protocol has no other way.
func (a *Agent) Models(ctx context.Context) ([]agent.Model, error) {
	if err := a.Alive(ctx); err != nil {
		return nil, err
	}
	if a.driver.areModelsKnown() {
		return a.driver.Models(), nil
	}
	directory := a.driver.saved.directory
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	var s settings
	if err := a.call(ctx, "session/new", sessionParams{Directory: directory, Servers: []acp.Server{}, Meta: a.driver.preset.meta}, &s); err != nil {
		return nil, err
	}
	a.driver.learnModels(s)
	a.discard(ctx, s.SessionID)
	return a.driver.Models(), nil
}

// discard removes a session that is not needed, as far as the agent can.
func (a *Agent) discard(ctx context.Context, id string) {
	switch {
	case a.info.Capabilities.Session.Delete != nil:
		_ = a.call(ctx, "session/delete", sessionID{id}, nil) // it is empty
	case a.canClose():
		_ = a.closeSession(ctx, id) // it is empty
	}
}

func (a *Agent) canLoad() bool {
	return a.info.Capabilities.LoadSession || a.info.Capabilities.Session.Resume != nil
}

func (a *Agent) canClose() bool { return a.info.Capabilities.Session.Close != nil }

// closeSession frees what the agent holds of a session in memory. The agent keeps it saved.
func (a *Agent) closeSession(ctx context.Context, id string) error {
	return a.call(ctx, "session/close", sessionID{id}, nil)
}

// Ping calls a method that no agent has and waits for any answer: the protocol has no other sign of life.
func (a *Agent) Ping(ctx context.Context) error {
	before, output := a.link.Program.Activity(), a.link.LastOutput()
	err := a.link.Peer.Call(ctx, "_portal/ping", nil, nil)
	_, refused := errors.AsType[*jsonrpc.Error](err)
	switch {
	case a.link.IsOver(), errors.Is(err, jsonrpc.ErrGone), errors.Is(err, jsonrpc.ErrClosed):
		return stdio.ErrGone
	case err == nil, refused, a.link.LastOutput().After(output):
		return nil
	}
	return a.link.Silent(ctx, before, output)
}

// Memory returns the memory of the program without its children.
func (a *Agent) Memory() int64 { return a.link.Program.Memory() }

// Done returns a channel that is closed when the program and its children have ended.
func (a *Agent) Done() <-chan struct{} { return a.link.Done() }

// Exit describes how the program ended; see [agent.Agent].
func (a *Agent) Exit() string { return a.link.Program.Exit() }

// Stop ends the program: the end of its input, SIGTERM, and SIGKILL when ctx is done. Then it waits for the work of its conversations, which
// ends soon.
func (a *Agent) Stop(ctx context.Context) {
	a.link.Stop(ctx, nil)
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	a.work.Wait()
}

// start starts a goroutine that ends with the program; false if the agent is stopped, which does not wait for new ones.
func (a *Agent) start(work func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		a.work.Go(work)
	}
	return !a.stopped
}

// conversation returns the open conversation with the agent's id, or nil.
func (a *Agent) conversation(id string) *conversation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conversations[id]
}

// update passes an update to its conversation. Updates of others are those of a conversation that is being opened: the portal
// has its history.
func (a *Agent) update(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p updateParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if c := a.conversation(p.SessionID); c != nil {
		return nil, c.update(p.Update)
	}
	return nil, nil //nolint:nilnil // a notification has no result
}

// find returns the conversation that a request of the agent names.
func (a *Agent) find(id string) (*conversation, error) {
	if c := a.conversation(id); c != nil {
		return c, nil
	}
	return nil, jsonrpc.InvalidParams("there is no session %q", id)
}

// modelValue returns the agent's name of a model.
func (a *Agent) modelValue(id string) (string, error) {
	value, ok := strings.CutPrefix(id, a.Name+"/")
	if !ok {
		return "", fault.Errorf(fault.Invalid, "%w: %q is not a model of the agent %s", fault.ErrModelNotFound, id, a.Name)
	}
	return value, nil
}

// decode decodes an update whose kind is known.
func decode[T any](raw json.RawMessage) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}
