package operation

import (
	"context"
	"log/slog"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// Options of a [Host]. Zero fields take the defaults named.
type Options struct {
	Sessions  *copilot.Host  // required; to be closed after the operations
	Store     *store.Store   // has each message before readers see it; nil: operations live as long as the host
	Policy    copilot.Policy // the permissions of the agent in operations
	Directory string         // of operations that name none; an absolute path
	Retention time.Duration  // how long an operation is known after its end; 10 minutes
	Log       *slog.Logger   // nil: none
}

// Host knows all operations. Its methods may be called concurrently. Close ends it.
type Host struct{}

// New makes a host without operations; nothing is started but its clock.
func New(o Options) *Host { return &Host{} }

// Start begins an operation, which goes on whether anybody watches it or not, and
// does not wait for the agent. Errors: kind [copilot.Invalid] for a request that
// makes no sense, [copilot.NotFound] if there is no such document, [copilot.Busy]
// while one of this type runs for the feature, and [copilot.Unavailable] when the
// portal is stopping or its store takes nothing.
func (h *Host) Start(ctx context.Context, r Request) (*Operation, error) { return nil, nil }

// Get finds an operation, also one that another process has. Error:
// [copilot.NotFound].
func (h *Host) Get(ctx context.Context, id string) (*Operation, error) { return nil, nil }

// List gives the newest operations first, at most limit, if that is above 0.
func (h *Host) List(ctx context.Context, limit int) ([]Info, error) { return nil, nil }

// Estimate says how long an operation may take: the mean of the last ones of this
// type, else a guess.
func (h *Host) Estimate(t Type) time.Duration { return 0 }

// Recover ends what a portal that was killed has left: with an error, complete and
// the status Interrupted.
func (h *Host) Recover(ctx context.Context) error { return nil }

// Close ends what runs, as Interrupted, and waits for it. No operation can be
// started any more. ctx bounds how long that may take gently.
func (h *Host) Close(ctx context.Context) {}
