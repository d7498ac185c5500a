package sdk

import (
	"context"
	"io"
	"time"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// Translator is the dictionary from the CLI's events to the domain's.
type Translator struct{ t translator }

// NewTranslator makes one for a session in a directory, with tools of clients.
func NewTranslator(directory string, tools ...event.Tool) *Translator {
	return &Translator{newTranslator(directory, tools)}
}

// Event translates one event.
func (t *Translator) Event(e rpc.SessionEvent) []event.Body { return t.t.event(e) }

// Size is how much it remembers, in entries.
func (t *Translator) Size() int {
	t0 := &t.t
	return t0.thoughts.size() + t0.messages.size() + len(t0.sizes) + len(t0.partial) + len(t0.agents) + t0.seen.size() + t0.shells.size()
}

func (o *openTexts) size() int {
	n := o.over.size()
	for _, x := range o.open {
		n += 1 + len(x.ids)
	}
	return n
}

func (r *idSet) size() int { return len(r.young) + len(r.old) }

// What the CLI is told, and what it tells.
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

// Mute is a conversation without a CLI.
type Mute struct{ c *conversation }

// NewMute makes one that begins by itself where an event says so.
func NewMute(sink agent.Sink) *Mute {
	a := &Agent{done: make(chan struct{})}
	return &Mute{newConversation(a, agent.Opening{Directory: "/project"}, nil, sink)}
}

// Event is an event of the CLI.
func (m *Mute) Event(e rpc.SessionEvent) { m.c.event(e) }

// Sent notes that the CLI was given a prompt.
func (m *Mute) Sent(p event.Prompt) error { return m.c.count(p, +1) }

// Failed notes that it was not.
func (m *Mute) Failed(p event.Prompt) { _ = m.c.count(p, -1) }

// Aborting notes that the CLI is told to end its work.
func (m *Mute) Aborting() { m.c.aborting() }

// BeginReading notes that the to-dos are being read.
func (m *Mute) BeginReading() {
	m.c.mu.Lock()
	defer m.c.mu.Unlock()
	m.c.plan.reading = true
}

// EndReading notes that they have been read.
func (m *Mute) EndReading(todos ...event.Todo) {
	m.c.plannedTodos(todos)
	m.c.planIsDirty()
}

// Handle is what the SDK does with a question of the CLI.
func (m *Mute) Handle(kind event.QuestionKind, text string) {
	_ = m.c.parkHandler(question{kind, text})
}

// Answered is what an answer does to the handler.
func (m *Mute) Answered(kind event.QuestionKind, text string) {
	m.c.releaseHandler(question{kind, text})
}

// Tell gives a conversation an event as if it came from the CLI.
func Tell(c agent.Conversation, e rpc.SessionEvent) {
	if own, ok := c.(*conversation); ok {
		own.event(e)
	}
}

// Reads says whether the CLI is being asked for the to-dos.
func Reads(c agent.Conversation) bool {
	own, _ := c.(*conversation)
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.plan.reading && !own.plan.dirty
}

// CalledModel is the portal's id of a model that a provider calls local, among
// those of one provider for each of the names.
func CalledModel(providers []string, current, local string) string {
	entries := []entry{{Model: agent.Model{ID: "own"}}}
	for _, name := range providers {
		entries = append(entries, entry{agent.Model{ID: name + "/m"}, &Provider{Name: name}, "m"})
	}
	return calledModel(entries, current, local)
}

// Parked counts the handlers that wait.
func (m *Mute) Parked() int { return Parked(m.c) }

// Close ends the events and frees the handlers.
func (m *Mute) Close() {
	m.c.detachSink()
	m.c.releaseHandlers()
}

// Find looks for the CLI's executable.
func (l Locate) Find() (string, error) { return l.find() }

// Platform is npm's name for this machine.
func Platform() string { return platform() }

// TooOld says whether a version of the CLI is too old.
func TooOld(version string) bool { return tooOld(version) }

// List asks a provider for its models.
func (p *Provider) List(ctx context.Context) ([]string, error) { return p.models(ctx) }

// DecodeModels reads the answer of a provider.
func DecodeModels(r io.Reader) ([]string, error) { return decodeModels(r) }

// Options are what the driver was made with.
func (d *Driver) Options() Options { return d.options }

// PID is the process of the CLI.
func (a *Agent) PID() int { return a.process.PID() }

// Address is where the CLI listens.
func (a *Agent) Address() string { return a.process.address }

// Mark is in the environment of all that the agent starts.
func (a *Agent) Mark() string { return a.process.Mark() }

// Parked counts the handlers of ask_user that wait.
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

// Expire makes the list of models old.
func (a *Agent) Expire() {
	a.catalog.mu.Lock()
	defer a.catalog.mu.Unlock()
	a.catalog.until = time.Time{}
}

// RemoveLeft is what a driver that ends orphans does before its first start.
func RemoveLeft() { removeLeft() }
