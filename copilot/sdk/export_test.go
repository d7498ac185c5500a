package sdk

import (
	"context"
	"io"
	"time"

	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot"
)

// Translator is the dictionary from the CLI's events to the domain's.
type Translator struct{ t translator }

// NewTranslator makes one for a session in a directory.
func NewTranslator(directory string) *Translator { return &Translator{newTranslator(directory, nil)} }

// Event translates one event.
func (t *Translator) Event(e rpc.SessionEvent) []copilot.Body { return t.t.event(e) }

// Size is how much it remembers, in entries.
func (t *Translator) Size() int {
	return len(t.t.thoughts) + len(t.t.messages) + len(t.t.partial) + len(t.t.agents)
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
func (a *Agent) PID() int { return a.process.pid() }

// Address is where the CLI listens.
func (a *Agent) Address() string { return a.process.address }

// Mark is in the environment of all that the agent starts.
func (a *Agent) Mark() string { return markVariable + "=" + a.process.mark }

// Parked counts the handlers of ask_user that wait.
func Parked(c copilot.Conversation) int {
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
