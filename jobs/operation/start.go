package operation

import (
	"cmp"
	"context"
	"errors"
	"maps"
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

// Start starts an operation, which runs whether or not anyone watches it. It waits for the agent only to
// check that the requested model exists. Errors: kind [fault.Invalid] for an invalid request,
// [fault.ErrModelNotFound], [fault.NotFound] if the document does not exist, [fault.Busy] while an operation
// of this type runs for the feature, and [fault.Unavailable] if the portal is stopping, is overloaded, or
// cannot store the operation.
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
		h.claims.Delete(claim{r.Feature, r.Type})
	}
	return o, err
}

// checkModel rejects a model that does not exist. If the agent is unavailable, the operation starts and
// reports that.
func (h *Host) checkModel(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	if _, err := h.options.Sessions.FindModel(ctx, name); errors.Is(err, fault.ErrModelNotFound) {
		return err
	}
	return nil
}

// claim is the right to run the only operation of a type for a feature.
type claim struct {
	feature string
	of      Type
}

// claim acquires the claim. A request without a feature needs none.
func (h *Host) claim(ctx context.Context, r Request) error {
	if r.Feature == "" {
		return nil
	}
	if _, held := h.claims.LoadOrStore(claim{r.Feature, r.Type}, true); held {
		return alreadyRuns(r.Type)
	}
	runs, err := h.log.RunsElsewhere(ctx, func(i Info) bool { return i.Feature == r.Feature && i.Type == r.Type })
	if runs {
		err = alreadyRuns(r.Type)
	}
	if err != nil {
		h.claims.Delete(claim{r.Feature, r.Type})
	}
	return err
}

func alreadyRuns(t Type) error {
	return fault.Errorf(fault.Busy, "an operation of type %s is already running for this feature", t)
}

// begin opens the session, creates the operation and starts its work. The agent starts with the first prompt.
func (h *Host) begin(ctx context.Context, r Request, prompt string) (*Operation, error) {
	start := copilot.Start{Origin: Origin, Model: r.Model, Directory: r.Directory, Policy: h.options.Policy, WithoutAgent: true}
	if tool, ok := report.Tool(r.Type); ok {
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
		_ = session.Rename(ctx, title) // otherwise lists show the beginning of the prompt file
	}
	o, err := h.create(ctx, r, session, prompt)
	if err != nil {
		_ = session.Close() // the session is unused
	}
	return o, err
}

// title returns the title of the session, or "" for a free prompt, which names the session itself.
func (r Request) title() string {
	if r.Type == Prompt {
		return ""
	}
	about := cmp.Or(r.Feature, r.Path, "a document")
	return strings.ToUpper(string(r.Type[:1])) + string(r.Type[1:]) + " " + about
}

// create stores the operation, makes it visible and starts its work.
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
	tool := report.ToolName(r.Type)
	w := &worker{
		Operation: o, request: r, session: session, reader: follow.Session(h.options.Sessions, session, 0),
		encoder: newEncoder(r.Directory, tool, report.Sections(r.Type)),
	}
	h.log.Go(ctx, record, func(ctx context.Context) { w.work(ctx, prompt) })
	return o, nil
}
