package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/jobs/operation/report"
)

// Origin is the origin of the sessions and answers of operations.
const Origin = "operation"

// Limits of the work.
const (
	maxSilence        = 30 * time.Minute // maximum time without events, unless a person must answer
	maxInvalidReports = 10
)

// worker runs an operation. It is one goroutine.
type worker struct {
	*Operation

	request   Request
	session   *copilot.Session
	reader    *follow.SessionReader
	encoder   *encoder
	run       *follow.Run // the current run
	lastEvent time.Time   // of the run

	report         report.Report
	reported       bool
	invalidReports int
}

// work runs the operation and ends it.
func (w *worker) work(ctx context.Context, prompt string) {
	e := w.perform(ctx, prompt)
	if w.run != nil {
		w.run.Cancel() // usually it has ended
	}
	w.host.recordEnd(w.Info(), e.status)
	_ = w.record.Write(func(i *Info) { // readers see the end in any case
		i.Progress = progress(time.Since(i.Created), w.host.Estimate(i.Type))
		w.storeModel(i)
		e.apply(i)
	}, e.messages()...)
	if e.status != Interrupted {
		w.closeSession(ctx)
	}
}

// closeSession closes the session when the run has ended, unless others continue in it. It waits for a run that was just cancelled, but
// not when the portal stops.
func (w *worker) closeSession(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, grace(nil))
	defer cancel()
	w.reader.Idle = nil
	if w.run != nil {
		for _, err := range w.run.Watch(ctx) {
			if err != nil {
				break // it has not ended in time
			}
		}
	}
	if w.session.Info().State == copilot.StateIdle {
		_ = w.session.Close() // a suspended session needs no closing
	}
}

// perform sends the prompt to the agent, and a reminder if the agent has not reported.
func (w *worker) perform(ctx context.Context, prompt string) operationEnd {
	e := w.prompt(ctx, prompt)
	if e.status == Completed && !w.reported {
		e = w.prompt(ctx, report.Remind(w.request.Type))
	}
	switch {
	case e.status != Completed:
		return e
	case !w.reported:
		return failed("The agent finished without a result.")
	}
	return w.persist(e)
}

// prompt sends a prompt to the agent and follows the run until it ends.
func (w *worker) prompt(ctx context.Context, text string) operationEnd {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	run, err := w.reader.Prompt(event.Prompt{Text: text})
	if err != nil {
		return failed(err.Error())
	}
	run.Grace = grace
	w.run, w.lastEvent = run, time.Now()
	if err := w.record.Write(func(i *Info) { i.Status = Running }); err != nil {
		return failed(err.Error())
	}
	w.reader.Idle = w.timeout
	for b, err := range run.Events(ctx) {
		if e, over := w.follow(ctx, b, err); over {
			return e
		}
	}
	return w.runEnded()
}

// grace is how long a cancelled run may take to end.
func grace(cause error) time.Duration {
	if errors.Is(cause, activity.ErrStopping) {
		return 0
	}
	return 10 * time.Second
}

// timeout returns the time until a tool must be reported or the run has been silent for too long.
func (w *worker) timeout() time.Duration {
	until := w.lastEvent.Add(maxSilence)
	if report := w.encoder.nextReport(); !report.IsZero() && report.Before(until) {
		until = report
	}
	return time.Until(until)
}

// follow handles a batch of entries and reports whether the run has ended.
func (w *worker) follow(ctx context.Context, b follow.Batch[follow.Entry], err error) (e operationEnd, over bool) {
	switch {
	case err != nil:
		e, over = readFailed(ctx, err), true
	case b.Gap != nil:
		w.encoder.add(Error, SenderSystem, "", "Some of the agent's events are missing here: the portal no longer keeps them.")
	case len(b.Entries) == 0:
		e, over = w.checkSilence(ctx)
	default:
		w.lastEvent = time.Now()
	}
	for _, entry := range b.Entries {
		if e, over = w.event(entry.Value); over {
			break
		}
	}
	w.encoder.reportDue(time.Now())
	if e.status == Cancelled && ctx.Err() != nil {
		e = ended(ctx) // the run was cancelled here; the portal may be stopping
	}
	return w.publish(e, over)
}

// checkSilence ends the operation if the run has been silent for too long and no person must answer.
func (w *worker) checkSilence(ctx context.Context) (e operationEnd, over bool) {
	switch {
	case time.Since(w.lastEvent) < maxSilence:
		return operationEnd{}, false
	case ctx.Err() != nil:
		return ended(ctx), true
	case w.encoder.isWaiting():
		w.lastEvent = time.Now()
		return operationEnd{}, false
	}
	return failed(fmt.Sprintf("The agent was silent for %d minutes; the operation was stopped.", maxSilence/time.Minute)), true
}

// readFailed returns the end of an operation whose session can no longer be read.
func readFailed(ctx context.Context, err error) operationEnd {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(err, fault.ErrSessionClosed):
		return failed("The session of the operation was closed.")
	}
	return failed(fmt.Sprintf("The session of the operation cannot be read: %v", err))
}

// publish publishes the pending messages.
func (w *worker) publish(e operationEnd, over bool) (operationEnd, bool) {
	messages := w.encoder.takeMessages()
	room := MaxMessages - roomForEnd - w.record.Head().Messages
	full := len(messages) > room
	if full {
		messages = messages[:max(0, room)]
	}
	if len(messages) > 0 {
		if err := w.record.Write(w.storeModel, messages...); err != nil {
			return failed(err.Error()), true
		}
	}
	switch {
	case full && (!over || e.status == Completed):
		return failed(fmt.Sprintf("The operation has reached %d messages, the maximum; it was stopped.", MaxMessages)), true
	case over && e.status == Failed && e.reason == w.encoder.failure.text:
		e.reason, e.message = "", w.encoder.failure.message
	}
	return e, over
}

// storeModel stores the model that the agent selected for the request.
func (w *worker) storeModel(i *Info) { i.Model = cmp.Or(w.session.Info().Model, i.Model) }

// roomForEnd is the number of messages reserved for an error and complete.
const roomForEnd = 2

// event handles an event of the session and reports whether the operation's run has ended.
func (w *worker) event(what event.Event) (e operationEnd, over bool) {
	if what.Run != w.run.ID && what.Run != "" {
		return operationEnd{}, false // an event of other users of the session
	}
	w.encoder.event(what)
	switch b := what.Body.(type) {
	case event.QuestionAsked:
		return w.call(b.Question)
	case event.RunEnded:
		return w.runEnded(), true
	}
	return operationEnd{}, false
}

func (w *worker) runEnded() operationEnd {
	switch w.run.Outcome {
	case event.Completed:
		if w.request.Type == Prompt {
			w.report, w.reported = report.Answer(w.run.Text), true
		}
		return operationEnd{status: Completed}
	case event.Cancelled:
		return operationEnd{status: Cancelled}
	case event.Interrupted:
		return operationEnd{status: Interrupted, reason: "The portal was stopped while the operation ran."}
	case event.Failed:
	}
	return failed(cmp.Or(w.run.Reason, "The agent failed and gave no reason."))
}

// call answers a call of the tool with which the model reports.
func (w *worker) call(q event.Question) (e operationEnd, over bool) {
	if q.Kind != event.AskTool || q.Tool != w.encoder.tool || q.Tool == "" {
		return operationEnd{}, false
	}
	answer := event.Answer{Text: "The result was already accepted; nothing more is to be done."}
	if !w.reported {
		answer = w.readReport(q)
	}
	_ = w.session.Answer(q.ID, answer, Origin) // fails if the question was withdrawn
	if w.invalidReports >= maxInvalidReports {
		return failed("The agent repeatedly reported invalid results."), true
	}
	return operationEnd{}, false
}

// readReport validates the report of the model.
func (w *worker) readReport(q event.Question) event.Answer {
	result, err := report.Read(w.request.Type, secret.MaskJSON(q.Arguments))
	if err != nil {
		w.invalidReports++
		return event.Answer{Failed: true, Reason: err.Error()}
	}
	w.report, w.reported = result, true
	for _, line := range result.Lines() {
		kind := Execution
		if line.Warning {
			kind = Error
		}
		w.encoder.add(kind, SenderCopilot, line.Subsection, line.Text)
	}
	return event.Answer{Text: "The result was accepted. Nothing more is to be done."}
}
