package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs/book"
)

// JobRequest describes a job to start.
type JobRequest struct {
	Name      string
	Directory string // absolute; "" means the host's
	Input     string // value of $user-input, or ""
	Key       string // random text of the caller for this start, or ""
}

// StartJob starts a job, which runs whether or not anyone watches it. It does not wait for the agent. If a job was started with the
// key, it returns that one: a caller repeats a start that may have been lost. Errors:
// [ErrNotInBook], [ErrNoInput], [ErrLongInput], [fault.ErrDirectoryNotAbsolute],
// [fault.ErrDirectoryNotFound], kind [fault.Unavailable] if the portal is stopping or cannot store the job.
func (h *Host) StartJob(ctx context.Context, r JobRequest) (*Job, error) {
	id := activity.NewID("start", r.Key)
	j, err := h.startJob(ctx, r, h.options.Book, id, "", nil)
	if errors.Is(err, store.ErrExists) {
		return h.Job(ctx, id)
	}
	return j, err
}

func (h *Host) startJob(ctx context.Context, r JobRequest, b *book.Book, id, continues string, events []Event) (*Job, error) {
	plan, ok := b.Jobs[r.Name]
	r.Directory = cmp.Or(r.Directory, h.options.Directory)
	if !ok {
		return nil, ErrNotInBook
	}
	if err := checkInput(plan.RequireUserInput, r.Input); err != nil {
		return nil, err
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
		ID: id, Name: r.Name, Status: Running, Directory: r.Directory, Input: r.Input,
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

// maxInput is the maximum length of user input, in bytes. Lists of jobs contain it.
const maxInput = 1 << 20

func checkInput(isRequired bool, input string) error {
	switch {
	case isRequired && strings.TrimSpace(input) == "":
		return ErrNoInput
	case len(input) > maxInput:
		return ErrLongInput
	}
	return nil
}

// Continue starts a job that continues a job that ended without success: from its first unfinished works,
// with its directory, input and book. Errors: [ErrJobNotFound], [ErrJobRuns] if the job or another one that
// continues the same work is running, [ErrJobDone] if nothing is left to do, and those of StartJob.
func (h *Host) Continue(ctx context.Context, id string) (*Job, error) {
	old, err := h.endedJob(ctx, id)
	if err != nil {
		return nil, err
	}
	info := old.Info()
	if info.Status == Succeeded {
		return nil, ErrJobDone
	}
	next, err := h.nextContinuation(ctx, h.origin(ctx, info)) // one id for all that could continue the work now
	if err != nil {
		return nil, err
	}
	b, err := h.bookOf(ctx, id)
	if err != nil {
		return nil, err
	}
	events, err := old.record.Present(ctx, 0)
	if err != nil {
		return nil, err
	}
	j, err := h.startJob(ctx, JobRequest{Name: info.Name, Directory: info.Directory, Input: info.Input}, b, next, id, events)
	if errors.Is(err, store.ErrExists) {
		return nil, ErrJobRuns // it was continued meanwhile
	}
	return j, err
}

// endedJob returns a job, or [ErrJobRuns] while it runs.
func (h *Host) endedJob(ctx context.Context, id string) (*Job, error) {
	j, err := h.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if !j.Info().Status.Ended() && j.record.IsElsewhere() {
		_ = h.RecoverOnce(ctx) // finalizes the job if its process is gone
	}
	if !j.Info().Status.Ended() {
		return nil, ErrJobRuns
	}
	return j, nil
}

// origin returns the id of the job whose work a job continues, directly or through others: its own if it continues none.
func (h *Host) origin(ctx context.Context, i JobInfo) string {
	for i.Continues != "" {
		j, err := h.Job(ctx, i.Continues)
		if err != nil {
			break // it has expired
		}
		i = j.Info()
	}
	return i.ID
}

// nextContinuation returns the id of the next job that continues the given one, or [ErrJobRuns] while a job runs that continues it,
// directly or through others. Callers of all processes that ask at the same time get the same id, which the store accepts once.
func (h *Host) nextContinuation(ctx context.Context, id string) (string, error) {
	for n := 1; ; n++ {
		next := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s/%d", id, n)).String()
		_, err := h.endedJob(ctx, next)
		switch {
		case errors.Is(err, ErrJobNotFound):
			return next, nil
		case errors.Is(err, ErrJobRuns):
			return "", fault.Errorf(fault.Busy, "job %s continues the same work: %w", next, err)
		case err == nil:
			_, err = h.nextContinuation(ctx, next)
		}
		if err != nil {
			return "", err
		}
	}
}

// Repeat starts a job like another one, running or ended: with its name, directory, input and book. Errors: [ErrJobNotFound] and those
// of StartJob.
func (h *Host) Repeat(ctx context.Context, id string) (*Job, error) {
	info, b, err := h.infoWithBook(ctx, id)
	if err != nil {
		return nil, err
	}
	return h.startJob(ctx, JobRequest{Name: info.Name, Directory: info.Directory, Input: info.Input}, b, uuid.NewString(), "", nil)
}

// Chart returns the flow chart of a job, from its own book. Errors: [ErrJobNotFound], kind [fault.Invalid] if this portal can no
// longer read the book.
func (h *Host) Chart(ctx context.Context, id string) ([]book.Node, error) {
	info, b, err := h.infoWithBook(ctx, id)
	if err != nil {
		return nil, err
	}
	return b.Chart(info.Name), nil
}

// infoWithBook returns a job and its own book.
func (h *Host) infoWithBook(ctx context.Context, id string) (info JobInfo, b *book.Book, err error) {
	j, err := h.Job(ctx, id)
	if err != nil {
		return info, nil, err
	}
	b, err = h.bookOf(ctx, id)
	return j.Info(), b, err
}

// bookOf returns the book that a job was started from.
func (h *Host) bookOf(ctx context.Context, id string) (*book.Book, error) {
	lines, err := h.jobs.Lines(ctx, id, 0, 1)
	if err != nil {
		return nil, err
	}
	var source book.Source
	if len(lines) == 0 || json.Unmarshal(lines[0], &source) != nil {
		return nil, fault.Errorf(fault.Invalid, "the book of the job was not stored")
	}
	b, err := book.Load(source.Name, source.Text)
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "the book of the job is no longer valid: %w", err)
	}
	return b, nil
}

// TaskRequest describes a task to run in an existing session.
type TaskRequest struct {
	Name    string
	Session string // id of the session
	Input   string
}

// StartTask starts a task on its own in a borrowed session. Errors: [ErrNotInBook], [ErrNoInput],
// [ErrLongInput], [fault.ErrSessionNotFound], [fault.ErrSessionClosed], kind [fault.Busy] if a task of any
// process already works in the session or the process that holds it cannot be reached, and those of StartJob.
func (h *Host) StartTask(ctx context.Context, r TaskRequest) (*Task, error) {
	leave, ok := h.tasks.Enter()
	if !ok {
		return nil, fault.ErrStopping
	}
	defer leave()
	s, err := h.options.Sessions.Session(ctx, r.Session) // checked before the task: spec/contracts/jobs.notes.md, "REST"
	if err != nil {
		return nil, err
	}
	b := h.options.Book
	plan, ok := b.Tasks[r.Name]
	if !ok {
		return nil, ErrNotInBook
	}
	if err := checkInput(plan.RequireUserInput, r.Input); err != nil {
		return nil, err
	}
	if _, isBusy := h.busy.LoadOrStore(r.Session, true); isBusy {
		return nil, errSessionBusy
	}
	t, err := h.borrowSession(ctx, s, r, b, plan)
	if err != nil {
		h.busy.Delete(r.Session)
	}
	return t, err
}

var errSessionBusy = fault.Errorf(fault.Busy, "a task is already working in this session")

func (h *Host) borrowSession(ctx context.Context, s *copilot.Session, r TaskRequest, b *book.Book, plan book.Task) (*Task, error) {
	works, err := h.tasks.RunsElsewhere(ctx, func(i TaskInfo) bool { return i.worksIn(s.ID()) })
	switch {
	case err != nil:
		return nil, err
	case works:
		return nil, errSessionBusy
	}
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
		_, _ = w.run(ctx, nil)
	})
	return t, nil
}
