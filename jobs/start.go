package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs/book"
)

// JobRequest describes a job to be started.
type JobRequest struct {
	Name      string
	Directory string // absolute; "": the host's
	Input     string // what the user says, $user-input; "" is no input
}

// StartJob begins a job, which goes on whether anybody watches it or not, and does not wait for the agent. Errors:
// [ErrNotInBook], [ErrNoInput], [ErrLongInput], [fault.ErrDirectoryNotAbsolute], [fault.ErrDirectoryNotFound], kind
// [fault.Unavailable] when the portal is stopping or its store takes nothing.
func (h *Host) StartJob(ctx context.Context, r JobRequest) (*Job, error) {
	return h.startJob(ctx, r, h.options.Book, "", nil)
}

func (h *Host) startJob(ctx context.Context, r JobRequest, b *book.Book, continues string, events []Event) (*Job, error) {
	plan, ok := b.Jobs[r.Name]
	r.Directory = cmp.Or(r.Directory, h.options.Directory)
	switch {
	case !ok:
		return nil, ErrNotInBook
	case plan.RequireUserInput && isBlank(r.Input):
		return nil, ErrNoInput
	case len(r.Input) > maxInput:
		return nil, ErrLongInput
	}
	if err := copilot.CheckDirectory(r.Directory); err != nil {
		return nil, err
	}
	leave, ok := h.jobs.Enter()
	if !ok {
		return nil, fault.ErrStopping
	}
	defer leave()
	info := JobInfo{
		ID: uuid.NewString(), Name: r.Name, Status: Running, Directory: r.Directory, Input: r.Input,
		Started: time.Now().UTC().Truncate(time.Millisecond), Continues: continues,
	}
	for w := range plan.Work.All() {
		if w.Kind == book.Ref {
			info.Works = append(info.Works, Progress{Work: w.ID, Name: w.Task, Status: Pending})
		}
	}
	source, err := json.Marshal(b.Source())
	if err != nil {
		return nil, err
	}
	record, err := h.jobs.Begin(info, source)
	if err != nil {
		return nil, err
	}
	j := &Job{record}
	w := &walker{host: h, job: j, book: b, info: info, earlier: readEarlierResults(events)}
	h.jobs.Go(ctx, record, func(ctx context.Context) { w.run(ctx, plan.Work) })
	h.notifyChange()
	return j, nil
}

// maxInput is how long user input is at most, in bytes: it stands in the list of jobs.
const maxInput = 1 << 20

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// Continue starts a job that goes on where another one ended that did not succeed: with the first works that it had not
// done, in its directory, with its input and its book. Errors: [ErrJobNotFound], [ErrJobRuns] if it, or one that goes on with
// it, is at work, [ErrJobDone] if there is nothing left to do, those of StartJob.
func (h *Host) Continue(ctx context.Context, id string) (*Job, error) {
	old, err := h.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	info := old.Info()
	if !info.Status.Ended() && old.record.IsElsewhere() {
		_ = h.Recover(ctx) // if its process is gone it has ended
		info = old.Info()
	}
	switch {
	case !info.Status.Ended():
		return nil, ErrJobRuns
	case info.Status == Succeeded:
		return nil, ErrJobDone
	}
	if !h.claim(id) {
		return nil, ErrJobRuns
	}
	defer h.releaseClaim(id)
	b, err := h.bookOf(ctx, id)
	if err != nil {
		return nil, err
	}
	events, err := old.record.Present(ctx, 0)
	if err != nil {
		return nil, err
	}
	return h.startJob(ctx, JobRequest{Name: info.Name, Directory: info.Directory, Input: info.Input}, b, id, events)
}

// claim makes a caller the only one that goes on with a job; false if somebody does already.
func (h *Host) claim(id string) bool {
	for _, i := range h.jobs.Local() {
		if i.Continues == id && !i.Status.Ended() {
			return false
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.claims[id] {
		return false
	}
	h.claims[id] = true
	return true
}

func (h *Host) releaseClaim(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.claims, id)
}

// bookOf is the book with which a job was started.
func (h *Host) bookOf(ctx context.Context, id string) (*book.Book, error) {
	lines, err := h.jobs.Lines(ctx, id, 0, 1)
	if err != nil {
		return nil, err
	}
	var source book.Source
	if len(lines) == 0 || json.Unmarshal(lines[0], &source) != nil {
		return nil, fault.Errorf(fault.Invalid, "the job cannot be continued: its book was not kept")
	}
	b, err := book.Load(source.Name, source.Text)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "the job cannot be continued: its book cannot be read any more: %w", err)
	}
	return b, nil
}

// TaskRequest describes a task to be done in a session that is there already.
type TaskRequest struct {
	Name    string
	Session string // its id
	Input   string
}

// StartTask begins a task by itself in a borrowed session. Errors: [ErrNotInBook], [ErrNoInput], [ErrLongInput], [fault.ErrSessionNotFound],
// [fault.ErrSessionClosed], kind [fault.Busy] if a task works in the session already or another process has it, and as
// StartJob.
func (h *Host) StartTask(ctx context.Context, r TaskRequest) (*Task, error) {
	leave, ok := h.tasks.Enter()
	if !ok {
		return nil, fault.ErrStopping
	}
	defer leave()
	s, err := h.options.Sessions.Session(ctx, r.Session) // before the task: spec/contracts/jobs.notes.md, "REST"
	if err != nil {
		return nil, err
	}
	b := h.options.Book
	plan, ok := b.Tasks[r.Name]
	switch {
	case !ok:
		return nil, ErrNotInBook
	case plan.RequireUserInput && isBlank(r.Input):
		return nil, ErrNoInput
	case len(r.Input) > maxInput:
		return nil, ErrLongInput
	}
	if !h.claimSession(r.Session) {
		return nil, fault.Errorf(fault.Busy, "a task works in this session already")
	}
	t, err := h.borrowSession(ctx, s, r, b, plan)
	if err != nil {
		h.releaseSession(r.Session)
	}
	return t, err
}

func (h *Host) borrowSession(ctx context.Context, s *copilot.Session, r TaskRequest, b *book.Book, plan book.Task) (*Task, error) {
	if err := s.SetRules(jobToolsAllowed()); err != nil {
		return nil, err
	}
	t, err := h.beginTask(TaskInfo{Name: r.Name, Borrowed: true})
	if err != nil {
		return nil, err
	}
	w := &worker{
		host: h, task: t, book: b, plan: plan, publish: t.publish, borrowed: s,
		values: values(r.Input, s.Info().Model),
	}
	h.tasks.Go(ctx, t.record, func(ctx context.Context) {
		defer t.record.Release()
		defer h.releaseSession(r.Session)
		_, _ = w.run(ctx, nil)
	})
	return t, nil
}

// claimSession makes a session one that a task works in; false if it is one already.
func (h *Host) claimSession(session string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.busy[session] {
		return false
	}
	h.busy[session] = true
	return true
}

func (h *Host) releaseSession(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.busy, session)
}
