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

// Origin names operations in sessions and answers.
const Origin = "operation"

// Limits of the work.
const (
	silence   = 30 * time.Minute // nothing happens, though nobody is waited for
	mostWrong = 10               // reports that cannot be used
)

// worker does an operation. It is one goroutine.
type worker struct {
	*Operation

	request Request
	session *copilot.Session
	reader  *follow.SessionReader
	encoder *encoder
	run     *follow.Run // the current one
	heard   time.Time   // when something has happened in it

	report   report.Report
	reported bool
	wrong    int // reports that could not be used
}

// work does the operation and ends it.
func (w *worker) work(ctx context.Context, prompt string) {
	e := w.perform(ctx, prompt)
	if w.run != nil {
		w.run.Cancel() // mostly it has ended
	}
	w.host.noteEnd(w.Info(), e.status)
	_ = w.record.Write(func(i *Info) { // readers have the end in any case
		i.Progress = progress(time.Since(i.Created), w.host.Estimate(i.Type))
		w.settleModel(i)
		e.apply(i)
	}, e.messages()...)
	if e.status != Interrupted && w.session.Info().State == copilot.StateIdle { // else others go on in it
		_ = w.session.Close() // at rest it is closed already
	}
}

// perform gives the prompt to the agent, and once more if it has not reported.
func (w *worker) perform(ctx context.Context, prompt string) operationEnd {
	e := w.prompt(ctx, prompt)
	if e.status == Completed && !w.reported {
		e = w.prompt(ctx, report.Remind(report.Type(w.request.Type)))
	}
	switch {
	case e.status != Completed:
		return e
	case !w.reported:
		return failed("The agent has ended without a result.")
	}
	return w.persist(e)
}

// prompt gives a prompt to the agent and follows the run to its end.
func (w *worker) prompt(ctx context.Context, text string) operationEnd {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	run, err := w.reader.Prompt(event.Prompt{Text: text})
	if err != nil {
		return failed(err.Error())
	}
	run.Grace = grace
	w.run, w.heard = run, time.Now()
	if err := w.record.Write(func(i *Info) { i.Status = Running }); err != nil {
		return failed(err.Error())
	}
	w.reader.Idle = w.patience
	for b, err := range run.Events(ctx) {
		if e, over := w.follow(ctx, b, err); over {
			return e
		}
	}
	return w.runEnded()
}

// grace is how long a run that was cancelled may take to end.
func grace(cause error) time.Duration {
	if errors.Is(cause, activity.ErrStopping) {
		return 0
	}
	return 10 * time.Second
}

// patience is how long it takes until a tool is to be reported, or nothing has happened for too long.
func (w *worker) patience() time.Duration {
	until := w.heard.Add(silence)
	if report := w.encoder.nextReport(); !report.IsZero() && report.Before(until) {
		until = report
	}
	return time.Until(until)
}

// follow tells what has happened; over if that was the end.
func (w *worker) follow(ctx context.Context, b follow.Batch[follow.Entry], err error) (e operationEnd, over bool) {
	switch {
	case err != nil:
		e, over = readFailed(ctx, err), true
	case b.Gap != nil:
		w.encoder.add(Error, SenderSystem, "", "A part of what the agent has done is missing here: it was more than the portal keeps.")
	case len(b.Entries) == 0:
		e, over = w.checkSilence(ctx)
	default:
		w.heard = time.Now()
	}
	for _, entry := range b.Entries {
		if e, over = w.event(entry.Value); over {
			break
		}
	}
	w.encoder.reportDue(time.Now())
	if e.status == Cancelled && ctx.Err() != nil {
		e = ended(ctx) // the run was cancelled here, which was the end of the portal if that stops
	}
	return w.publish(e, over)
}

// checkSilence ends the operation when nothing has happened for too long, though nobody is waited for.
func (w *worker) checkSilence(ctx context.Context) (e operationEnd, over bool) {
	switch {
	case time.Since(w.heard) < silence:
		return operationEnd{}, false
	case ctx.Err() != nil:
		return ended(ctx), true
	case w.encoder.isWaiting():
		w.heard = time.Now()
		return operationEnd{}, false
	}
	return failed(fmt.Sprintf("The agent has said nothing for %d minutes; the operation was ended.", silence/time.Minute)), true
}

// readFailed is the end of an operation whose session cannot be read on.
func readFailed(ctx context.Context, err error) operationEnd {
	switch {
	case ctx.Err() != nil:
		return ended(ctx)
	case errors.Is(err, fault.ErrSessionClosed):
		return failed("The session of the operation was closed.")
	}
	return failed(fmt.Sprintf("The session of the operation cannot be read: %v", err))
}

// publish publishes what there is to be told.
func (w *worker) publish(e operationEnd, over bool) (operationEnd, bool) {
	messages := w.encoder.takeMessages()
	room := MaxMessages - roomForEnd - w.record.Head().Messages
	full := len(messages) > room
	if full {
		messages = messages[:max(0, room)]
	}
	if len(messages) > 0 {
		if err := w.record.Write(w.settleModel, messages...); err != nil {
			return failed(err.Error()), true
		}
	}
	switch {
	case full && (!over || e.status == Completed):
		return failed(fmt.Sprintf("The operation has reached %d messages, which is all that it may have; it was ended.", MaxMessages)), true
	case over && e.status == Failed && e.reason == w.encoder.failure.text:
		e.reason, e.message = "", w.encoder.failure.message
	}
	return e, over
}

// settleModel tells the model that the agent has found for what was asked for.
func (w *worker) settleModel(i *Info) { i.Model = cmp.Or(w.session.Info().Model, i.Model) }

// roomForEnd is for an error and complete.
const roomForEnd = 2

// event takes an event of the operation's run; over if that is its end.
func (w *worker) event(what event.Event) (e operationEnd, over bool) {
	if what.Run != w.run.ID && what.Run != "" {
		return operationEnd{}, false // of others who use the session
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
	return failed(cmp.Or(w.run.Reason, "The agent has failed and gave no reason."))
}

// call answers the call of the tool by which the model reports.
func (w *worker) call(q event.Question) (e operationEnd, over bool) {
	if q.Kind != event.AskTool || q.Tool != w.encoder.tool || q.Tool == "" {
		return operationEnd{}, false
	}
	answer := event.Answer{Text: "The result was taken before; nothing more is to be done."}
	if !w.reported {
		answer = w.readReport(q)
	}
	_ = w.session.Answer(q.ID, answer, Origin) // what was withdrawn needs no answer
	if w.wrong >= mostWrong {
		return failed("The agent has reported again and again what cannot be used as a result."), true
	}
	return operationEnd{}, false
}

// readReport reads what the model reports.
func (w *worker) readReport(q event.Question) event.Answer {
	result, err := report.Read(report.Type(w.request.Type), secret.MaskJSON(q.Arguments))
	if err != nil {
		w.wrong++
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
	return event.Answer{Text: "The result was taken. Nothing more is to be done."}
}
