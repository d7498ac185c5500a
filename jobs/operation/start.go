package operation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/jobs/operation/report"
)

// Start begins an operation, which goes on whether anybody watches it or not, and
// waits for the agent only to look whether there is the model of the request. Errors: kind [fault.Invalid] for a request that
// makes no sense, [fault.ErrModelNotFound], [fault.NotFound] if there is no such document, [fault.Busy]
// while one of this type runs for the feature, and [fault.Unavailable] when the
// portal is stopping, has too much to do, or its store takes nothing.
func (h *Host) Start(ctx context.Context, r Request) (*Operation, error) {
	r.Directory = cmp.Or(r.Directory, h.options.Directory)
	prompt, err := r.prepare()
	if err != nil {
		return nil, err
	}
	if err := h.checkModel(ctx, r.Model); err != nil {
		return nil, err
	}
	if err := h.claim(ctx, r); err != nil {
		return nil, err
	}
	o, err := h.begin(ctx, r, prompt)
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.claims, claimOf(r.Feature, r.Type))
		return nil, err
	}
	return o, nil
}

// checkModel refuses a model that does not exist. When the agent cannot be had, the record of the operation tells that.
func (h *Host) checkModel(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	if err := h.options.Sessions.CheckModel(ctx, name); errors.Is(err, fault.ErrModelNotFound) {
		return err
	}
	return nil
}

// claim is the right to be the only operation of a type for a feature.
type claim struct {
	feature string
	of      Type
}

func claimOf(feature string, t Type) claim { return claim{feature, t} }

// claim takes it; who names no feature needs none.
func (h *Host) claim(ctx context.Context, r Request) error {
	if r.Feature == "" {
		return nil
	}
	if err := h.claimLocal(r); err != nil {
		return err
	}
	list, err := h.log.Heads(ctx, most)
	runsElsewhere := func(i Info) bool {
		isSame := i.Feature == r.Feature && i.Type == r.Type && !i.Status.Ended()
		return isSame && !h.log.Owns(i.ID) && h.log.IsOwned(ctx, i.ID)
	}
	if slices.ContainsFunc(list, runsElsewhere) {
		err = alreadyRuns(r.Type)
	}
	if err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.claims, claimOf(r.Feature, r.Type))
	}
	return err
}

func (h *Host) claimLocal(r Request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := claimOf(r.Feature, r.Type)
	if h.claims[key] {
		return alreadyRuns(r.Type)
	}
	h.claims[key] = true
	return nil
}

func alreadyRuns(t Type) error {
	return fault.Errorf(fault.Busy, "an operation of the type %s runs already for this feature", t)
}

// begin opens the session, makes the operation known and starts its work. The agent
// comes with the first prompt.
func (h *Host) begin(ctx context.Context, r Request, prompt string) (*Operation, error) {
	start := copilot.Start{Origin: Origin, Model: r.Model, Directory: r.Directory, Policy: h.options.Policy, WithoutAgent: true}
	if tool, ok := report.Tool(report.Type(r.Type)); ok {
		start.Tools = []event.Tool{tool}
		start.Policy = permission.Policy{}
		maps.Copy(start.Policy, h.options.Policy)
		start.Policy[tool.Name] = permission.Allow
	}
	session, err := h.options.Sessions.Start(ctx, start)
	if fault.KindOf(err) == fault.Busy {
		return nil, fault.Errorf(fault.Unavailable, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	if title := r.title(); title != "" {
		_ = session.Rename(ctx, title) // else lists show the beginning of the prompt file
	}
	o, err := h.create(ctx, r, session, prompt)
	if err != nil {
		_ = session.Close() // nothing was done in it
	}
	return o, err
}

// title is what lists of sessions show; "" for a free prompt, which says it best.
func (r Request) title() string {
	if r.Type == Prompt {
		return ""
	}
	about := cmp.Or(r.Feature, r.Path, "a document")
	return strings.ToUpper(string(r.Type[:1])) + string(r.Type[1:]) + " " + about
}

// create makes the operation known, first to the store, and starts its work.
func (h *Host) create(ctx context.Context, r Request, session *copilot.Session, prompt string) (*Operation, error) {
	leave, ok := h.log.Enter()
	if !ok {
		return nil, fault.ErrStopping
	}
	defer leave()
	record, err := h.log.Begin(Info{
		ID: uuid.NewString(), Type: r.Type, Feature: r.Feature, Status: Pending, Created: time.Now(), Client: r.Client,
		Directory: r.Directory, Model: r.Model, Session: session.ID(),
	})
	if err != nil {
		return nil, err
	}
	o := &Operation{h, record}
	tool := report.ToolName(report.Type(r.Type))
	w := &worker{
		Operation: o, request: r, session: session, reader: follow.Session(h.options.Sessions, session, 0),
		encoder: newEncoder(r.Directory, tool, report.Sections(report.Type(r.Type))),
	}
	h.log.Go(ctx, record, func(ctx context.Context) { w.work(ctx, prompt) })
	return o, nil
}
