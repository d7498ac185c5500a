package acp

import (
	"context"
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// connection is one editor.
type connection struct {
	api  *API
	peer *jsonrpc.Peer
	work sync.WaitGroup // the attachments, and the questions that wait for the editor
	// onlyClient is set if the editor is the only client of its portal: what it does not answer, nobody does.
	onlyClient bool

	mu       sync.Mutex
	can      acp.ClientCapabilities
	attached map[string]*attachment // by session
}

// methods are those of the protocol that an agent serves.
func (n *connection) methods() jsonrpc.Methods {
	return jsonrpc.Methods{
		"initialize":                {Handle: jsonrpc.Typed(n.initialize), InOrder: true},
		"authenticate":              {Handle: n.authenticate},
		"session/new":               {Handle: n.newSession},
		"session/load":              {Handle: n.load},
		"session/resume":            {Handle: n.resume},
		"session/list":              {Handle: jsonrpc.Typed(n.list)},
		"session/close":             {Handle: jsonrpc.Typed(n.close)},
		"session/delete":            {Handle: jsonrpc.Typed(n.remove)},
		"session/prompt":            {Begin: n.prompt},
		"session/cancel":            {Handle: jsonrpc.Typed(n.cancel), InOrder: true},
		"session/set_mode":          {Begin: n.setMode},
		"session/set_config_option": {Begin: n.setOption},
		"$/cancel_request":          {Handle: jsonrpc.Typed(n.cancelRequest), InOrder: true},
	}
}

// initialize records what the editor can do. The answer is always version 1, which an editor that knows only others must refuse.
func (n *connection) initialize(_ context.Context, p acp.InitializeParams) (any, error) {
	n.mu.Lock()
	n.can = p.Capabilities
	n.mu.Unlock()
	n.api.options.Log.Debug("editor connected", "client", p.Client.Name, "version", p.Client.Version)
	can := &acp.Present{}
	return acp.InitializeResult{
		ProtocolVersion: acp.Version,
		Capabilities: acp.AgentCapabilities{
			LoadSession: true, Servers: acp.ServerCapabilities{HTTP: true, SSE: true}, Prompt: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
			Session: acp.SessionCapabilities{List: can, Resume: can, Close: can, Delete: can},
		},
		AuthMethods: []acp.AuthMethod{}, // editors call authenticate as soon as there is one
		Agent:       &acp.Implementation{Name: "copilot-portal", Title: "Copilot Portal", Version: n.api.options.Version},
	}, nil
}

// authenticate accepts nothing: the portal's own token belongs to the connection, and the agent signs in by itself.
func (*connection) authenticate(context.Context, *jsonrpc.Request) (any, error) {
	return nil, fault.Errorf(fault.Invalid, "there is no way to sign in here: run `copilot login` in a terminal")
}

func (n *connection) host() *copilot.Host { return n.api.options.Host }

func (n *connection) capabilities() acp.ClientCapabilities {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.can
}

// answerable are the questions that the editor can ask its user. Permissions, plans and choices fit into a request for permission.
func answerable(c acp.ClientCapabilities) copilot.Capabilities {
	can := copilot.Capabilities{Kinds: []event.QuestionKind{event.AskPermission, event.AskPlan, event.AskSignIn}, Choices: true}
	if c.Elicitation.Form != nil {
		can.Kinds = append(can.Kinds, event.AskInput, event.AskForm)
	}
	return can
}

// attachment returns the session that a request names.
func (n *connection) attachment(session string) (*attachment, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a := n.attached[session]; a != nil {
		return a, nil
	}
	return nil, fault.Errorf(fault.NotFound, "%w: load it first (session/load or session/resume)", fault.ErrSessionNotFound)
}

// attach makes an attachment the one to its session, and ends the previous one.
func (n *connection) attach(ctx context.Context, a *attachment) {
	n.mu.Lock()
	before := n.attached[a.id]
	n.attached[a.id] = a
	n.mu.Unlock()
	if before != nil {
		before.end(ctx)
	}
}

// detach ends the attachment to a session, if there is one, and returns when it sends nothing more. Its runs continue.
func (n *connection) detach(ctx context.Context, session string) {
	n.mu.Lock()
	a := n.attached[session]
	delete(n.attached, session)
	n.mu.Unlock()
	if a != nil {
		a.end(ctx)
	}
}

// forget removes an attachment that has ended by itself.
func (n *connection) forget(a *attachment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.attached[a.id] == a {
		delete(n.attached, a.id)
	}
}

func (n *connection) all() []*attachment {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]*attachment, 0, len(n.attached))
	for _, a := range n.attached {
		list = append(list, a)
	}
	return list
}

// abandon answers the pending prompts of an editor that has gone. Their runs continue.
func (n *connection) abandon() {
	for _, a := range n.all() {
		a.runs.endAll(runEnd{err: errDetached})
	}
}

// cancelRuns cancels the runs of the editor, whose prompts are answered when they have ended.
func (n *connection) cancelRuns() {
	for _, a := range n.all() {
		a.cancelRuns()
	}
}

// cancelRequest cancels the run of a prompt that the editor no longer waits for.
func (n *connection) cancelRequest(_ context.Context, p cancelRequestParams) (any, error) {
	for _, a := range n.all() {
		if run, ok := a.runs.ofRequest(string(p.RequestID)); ok {
			_ = a.session().Cancel(run) // it may have ended meanwhile
		}
	}
	return nil, nil //nolint:nilnil // a notification has no result
}
