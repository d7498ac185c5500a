package sdk

import (
	"context"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// Translator translates the CLI's events to the domain's.
type Translator struct{ t translator }

// NewTranslator returns a translator for a session in a directory, with client tools.
func NewTranslator(directory string, tools ...event.Tool) *Translator {
	return &Translator{newTranslator(directory, tools)}
}

// Event translates one event.
func (t *Translator) Event(e rpc.SessionEvent) []event.Body { return t.t.event(e) }

// Size returns the number of entries that it remembers, besides those of Ended.
func (t *Translator) Size() int {
	t0 := &t.t
	return t0.thoughts.size() + t0.messages.size() + len(t0.sizes) + len(t0.partial) + len(t0.agents) + t0.seen.size() + t0.shells.size()
}

// Ended returns the number of ended tool calls that it remembers.
func (t *Translator) Ended() int { return t.t.ended.size() }

func (o *openTexts) size() int {
	n := o.over.size()
	for _, x := range o.open {
		n += 1 + len(x.ids)
	}
	return n
}

func (r *idSet) size() int { return len(r.young) + len(r.old) }

// Conversions to and from the CLI.
var (
	Message    = message
	Elicited   = elicited
	Planned    = planned
	ToolResult = toolResult
	Decision   = decision
	VendorTool = vendorTool
	Field      = field
	TodoList   = todoList
	Quota      = quota
	Loaded     = loaded
	Discovered = discovered
)

// Texts and versions, and the removal of temporary files before the first start.
var (
	Difference   = difference
	ReplaceOnce  = replaceOnce
	PlainText    = plainText
	WithFormatOf = withFormatOf
	Merge        = merge
	TooOld       = tooOld
	DecodeModels = decodeModels
	RemoveLeft   = removeLeft
)

// Disconnected is a conversation without a CLI.
type Disconnected struct{ c *conversation }

// NewDisconnected returns a conversation without a CLI.
func NewDisconnected(sink agent.Sink) *Disconnected {
	a := &Agent{done: make(chan struct{})}
	return &Disconnected{newConversation(a, agent.Opening{Directory: "/project"}, nil, sink)}
}

// Event handles an event of the CLI.
func (m *Disconnected) Event(e rpc.SessionEvent) { m.c.event(e) }

// Sent records that the CLI received a prompt.
func (m *Disconnected) Sent(p event.Prompt) error { return m.c.count(p, +1) }

// Failed records that the prompt did not reach the CLI.
func (m *Disconnected) Failed(p event.Prompt) { _ = m.c.count(p, -1) }

// Aborting records that the CLI was asked to abort.
func (m *Disconnected) Aborting() { m.c.aborting() }

// BeginReading records that the to-dos are being read.
func (m *Disconnected) BeginReading() {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	m.c.plan.reading = true
}

// EndReading records that the to-dos have been read.
func (m *Disconnected) EndReading(todos ...event.Todo) {
	m.c.plannedTodos(todos)
	m.c.planIsDirty()
}

// Handle passes a question to its handler, as the SDK does.
func (m *Disconnected) Handle(kind event.QuestionKind, text string) {
	_ = m.c.parkHandler(question{kind, text})
}

// Answered releases the handler of an answered question.
func (m *Disconnected) Answered(kind event.QuestionKind, text string) {
	m.c.releaseHandler(question{kind, text})
}

// Tell passes an event to a conversation as if it came from the CLI.
func Tell(c agent.Conversation, e rpc.SessionEvent) {
	if own, ok := c.(*conversation); ok {
		own.event(e)
	}
}

// Reads reports whether the to-dos are being read.
func Reads(c agent.Conversation) bool {
	own, _ := c.(*conversation)
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.plan.reading && !own.plan.dirty
}

// CalledModel returns the portal's id of a model that its provider calls local, among models of one provider for each
// of the names.
func CalledModel(providers []string, current, local string) string {
	entries := []entry{{Model: agent.Model{ID: "own"}}}
	for _, name := range providers {
		entries = append(entries, entry{agent.Model{ID: name + "/m"}, &Provider{Name: name}, "m"})
	}
	return calledModel(entries, current, local)
}

// Parked returns the number of waiting handlers.
func (m *Disconnected) Parked() int { return Parked(m.c) }

// Close ends the events and releases the handlers.
func (m *Disconnected) Close() {
	m.c.detachSink()
	m.c.releaseHandlers()
}

// Find returns the path of the CLI's executable.
func (l Locate) Find() (string, error) { return l.find() }

// LoginCommand returns the command that signs in.
func (l Locate) LoginCommand() string { return l.loginCommand() }

// List requests the models of a provider.
func (p *Provider) List(ctx context.Context) ([]string, error) { return p.models(ctx) }

// Options returns the options of the driver.
func (d *Driver) Options() Options { return d.options }

// PID returns the process id of the CLI.
func (a *Agent) PID() int { return a.process.PID() }

// Address returns the address at which the CLI listens.
func (a *Agent) Address() string { return a.process.address }

// Mark returns the variable in the environment of all processes of the agent.
func (a *Agent) Mark() string { return a.process.Mark() }

// Parked returns the number of waiting handlers of ask_user.
func Parked(c agent.Conversation) int {
	own, _ := c.(*conversation)
	own.mu.Lock()
	defer own.mu.Unlock()
	n := 0
	for _, waiting := range own.parked {
		n += len(waiting)
	}
	return n
}

// Expire makes the list of models outdated.
func (a *Agent) Expire() {
	a.catalog.lock <- struct{}{}
	defer func() { <-a.catalog.lock }()
	a.catalog.until = time.Time{}
}

// NewFiles returns the files of a new conversation.
var NewFiles = newOpenFiles

// Before is the hook before a tool.
func (f *openFiles) Before(tool string, args any) *vendor.PreToolUseHookOutput {
	return f.before(tool, args)
}

// After is the hook after a tool.
func (f *openFiles) After(tool string, args any) { f.after(tool, args, nil) }

// Failed is the hook after a tool that has failed.
func (f *openFiles) Failed(tool string, args any) *vendor.PostToolUseFailureHookOutput {
	return f.failed(tool, args)
}

// Lines returns the lines of a range.
func Lines(text string, span ...int) (string, bool) { return lines(text, span) }

// Unpack lets a CLI unpack its files.
func Unpack(ctx context.Context, d *Driver, path string) { d.files.ensure(ctx, path, d.options.Env) }
