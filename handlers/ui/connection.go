package ui

import (
	"context"
	"slices"
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

// connection is one UI.
type connection struct {
	api       *API
	peer      *jsonrpc.Peer
	directory string            // of the client
	policy    permission.Policy // of sessions that start here
	work      sync.WaitGroup    // the attachments, and the questions that wait for the UI

	mu         sync.Mutex
	can        capabilities
	context    editorContext
	current    string                 // the session of requests that name none
	model      string                 // of the next session
	attached   map[string]*attachment // by session
	detaching  map[string]*attachment // by session: removed, but still ending
	runs       map[string]*startedRun // started by this UI, by id
	steers     map[string][]string    // by run: the prompts with which this UI steers it
	lateSteers []string               // those that the run ended without reading: they may start runs of their own
	asked      map[string]*uiRequest  // by question
}

func newConnection(a *API, o Client) *connection {
	return &connection{
		api: a, directory: o.Directory, policy: o.Policy,
		attached: map[string]*attachment{}, detaching: map[string]*attachment{}, runs: map[string]*startedRun{},
		steers: map[string][]string{}, asked: map[string]*uiRequest{},
	}
}

// methods are those of spec/contracts/ui-protocol.md, and those below "portal." that need
// the attachments and runs of this connection.
func methods() jsonrpc.Table[*connection] {
	return jsonrpc.Table[*connection]{
		"initialize":        {Handle: (*connection).initialize, InOrder: true}, // a run right behind it may ask
		"run.start":         {Handle: (*connection).start, InOrder: true},
		"run.cancel":        {Handle: (*connection).cancel},
		"ui.context.update": {Handle: (*connection).update, InOrder: true},
		"auth.logout":       {Handle: (*connection).logout},
		"session.list":      {Handle: (*connection).list},
		"session.history":   {Handle: (*connection).history},
		"model.list":        {Handle: (*connection).models},
		"model.set":         {Handle: (*connection).setModel},
		"mcp.list":          {Handle: (*connection).servers},
		"skills.list":       {Handle: (*connection).skills},

		"portal.session.start":      {Handle: (*connection).startSession, InOrder: true},
		"portal.session.attach":     {Handle: (*connection).attach},
		"portal.session.detach":     {Handle: (*connection).detach},
		"portal.session.close":      {Handle: (*connection).close},
		"portal.session.earlier":    {Handle: (*connection).earlier},
		"portal.session.compact":    {Handle: (*connection).compact},
		"portal.session.extensions": {Handle: (*connection).extensionsOf},
	}
}

// end ends everything done for the UI and waits for it. The context of the connection has ended.
func (n *connection) end() {
	n.api.removeToolOwner("", n)
	n.mu.Lock()
	for _, r := range n.asked {
		r.withdraw()
	}
	for _, a := range n.attached {
		a.cancel()
	}
	n.mu.Unlock()
	n.work.Wait()
}

// encodeFor returns a notification in the form that the UI takes.
func (n *connection) encodeFor(by *htmlRenderer, m message) message {
	switch can := n.capabilities(); {
	case can.HTML:
		return by.render(m, can.HTMLChanges)
	case !can.Deltas:
		return m.plain()
	}
	return m
}

// noteStatus records the status of a run. It reports whether the run starts with client tools,
// which are those of the session from then on. The lock of the API is never acquired under that of
// a connection; see [API.watchers].
func (n *connection) noteStatus(m message) (bringsTools bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.runs[m.run]
	switch {
	case m.isTerminal():
		n.lateSteers = append(n.lateSteers, n.steers[m.run]...)
		n.lateSteers = n.lateSteers[max(0, len(n.lateSteers)-maxLateSteers):]
		delete(n.steers, m.run)
		if known != nil {
			known.status = m.status
		}
	case known != nil && known.tools:
		known.tools = false
		return true
	}
	return false
}

// maxLateSteers limits the prompts that are kept in lateSteers.
const maxLateSteers = 100

// accepts reports whether a notification is for this UI.
func (n *connection) accepts(m message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m.begins {
		return false
	}
	switch m.to {
	case forAll:
	case forDeltas:
		return n.can.Deltas
	case forPreviews:
		return n.can.Deltas || n.can.Preview
	case forOthers:
		return !n.isOwnPrompt(m) || n.can.Deltas
	}
	return true
}

// acceptsPast is accepts for a history, which also has the prompts of this UI.
func (n *connection) acceptsPast(m message) bool { return m.to == forOthers || n.accepts(m) }

// isOwnPrompt reports whether a prompt came from this UI. A steering prompt is recognized once, by
// its text; so is one that started a run because it came too late. The caller holds the lock.
func (n *connection) isOwnPrompt(m message) bool {
	prompt, _ := m.event.(promptEvent)
	if prompt.Steers {
		i := slices.Index(n.steers[m.run], prompt.Content)
		if i >= 0 {
			n.steers[m.run] = slices.Delete(n.steers[m.run], i, i+1)
		}
		return i >= 0
	}
	if i := slices.Index(n.lateSteers, prompt.Content); i >= 0 && n.runs[m.run] == nil {
		n.lateSteers = slices.Delete(n.lateSteers, i, i+1)
		n.runs[m.run] = &startedRun{}
	}
	return n.runs[m.run] != nil
}

// startedRun reports whether this UI started a run.
func (n *connection) startedRun(run string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runs[run] != nil
}

// capabilities are those of spec/contracts/ui-protocol.md, "4.2 Capabilities", and the portal's own.
type capabilities struct {
	Confirm bool `json:"supports_confirm"`
	Prompt  bool `json:"supports_prompt"`
	Pick    bool `json:"supports_pick"`
	Deltas  bool `json:"supports_deltas"`
	Forms   bool `json:"supports_forms"`
	Preview bool `json:"supports_permission_preview"`
	// Preflight is another name of Preview, which terminal UIs use.
	Preflight bool `json:"supports_permission_preflight_events"`
	HTML      bool `json:"supports_html"`
	// HTMLChanges is set by UIs that accept the changes of a tail instead of the whole tail.
	HTMLChanges bool `json:"supports_html_changes"`
	// Coalescing is set by UIs that want at most one delta of each text a frame.
	Coalescing bool `json:"supports_coalescing"`
}

// oneDeltaPerFrame reports whether deltas of one text that come within a frame are merged.
func (c capabilities) oneDeltaPerFrame() bool { return c.HTMLChanges || c.Coalescing }

// within returns the capabilities without questions if the caller may not answer them.
func (c capabilities) within(ctx context.Context) capabilities {
	if access, limited := copilot.AccessOf(ctx); limited && !access.Answers {
		c.Confirm, c.Prompt, c.Pick, c.Forms = false, false, false, false
	}
	return c
}

// ability returns the questions that the UI can ask its user.
func (c capabilities) ability() copilot.Capabilities {
	can := copilot.Capabilities{Choices: c.Pick}
	if c.Confirm {
		can.Kinds = append(can.Kinds, event.AskPermission, event.AskPlan, event.AskSignIn)
	}
	if c.Prompt {
		can.Kinds = append(can.Kinds, event.AskInput)
	}
	if c.Forms || c.Prompt {
		can.Kinds = append(can.Kinds, event.AskForm)
	}
	return can
}

// implementation is a client or server, in initialize.
type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type initializeParams struct {
	Client       implementation `json:"client"`
	Capabilities *capabilities  `json:"ui_capabilities"`
}

type initializeResult struct {
	Protocol     string          `json:"protocol_version"`
	Server       implementation  `json:"server"`
	Capabilities map[string]bool `json:"server_capabilities"`
}

// initialize records the capabilities of the UI. The answer is always version "0"
// (spec/contracts/ui-protocol.notes.md, "Rules that real UIs rely on").
func (n *connection) initialize(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p initializeParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.Capabilities != nil {
		n.mu.Lock()
		n.can = p.Capabilities.within(ctx)
		n.can.Preview = n.can.Preview || n.can.Preflight
		for _, a := range n.attached {
			before := a.leaveClients
			a.leaveClients = n.host().AttachClient(a.session, n.can.ability())
			before()
		}
		n.mu.Unlock()
	}
	n.api.options.Log.Debug("UI connected", "client", p.Client.Name, "version", p.Client.Version)
	return initializeResult{
		Protocol: "0", Server: implementation{"copilot-portal", n.api.options.Version},
		Capabilities: map[string]bool{
			"supports_run_cancel": true, "supports_ui_requests": true, "supports_mcp_list": true, "supports_skills_list": true,
			"supports_deltas": true, "supports_html": true, "supports_html_changes": true, "supports_coalescing": true, "supports_attach": true, "supports_client_tools": true,
			"supports_images": true, "supports_force_compaction": true, "supports_permission_preview": true,
			"supports_permission_preflight_events": true,
		},
	}, nil
}

func (n *connection) capabilities() capabilities {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.can
}

func (n *connection) host() *copilot.Host { return n.api.options.Host }
