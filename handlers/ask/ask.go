// Package ask is the dialect of a terminal: one prompt, the answer as it
// streams, questions answered on the keyboard (`portal ask`).
package ask

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// Origin names this dialect in sessions and answers.
const Origin = "ask"

// Options of one question.
type Options struct {
	Prompt      string
	Mode        event.Mode
	Attachments []event.Attachment
	Start       copilot.Start // Origin is set here
	JSON        bool          // events as lines of JSON instead of text

	Out    io.Writer // the answer, or the JSON
	Notes  io.Writer // what the agent does meanwhile, and its questions
	Keys   io.Reader // answers to questions; nil: there is nobody to ask
	Colour bool      // Notes is a terminal
}

// Run asks and waits for the end of the answer. Errors are those of starting
// the session, and of a run that failed; a cancelled one is [context.Canceled].
func Run(ctx context.Context, host *copilot.Host, o Options) error {
	o.Start.Origin = Origin
	o.Start.AskUser = o.Start.AskUser && o.Keys != nil
	s, err := host.Start(ctx, o.Start)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it is open
	run, err := follow.Session(host, s, 0).Prompt(event.Prompt{Text: o.Prompt, Mode: o.Mode, Attachments: o.Attachments, By: Origin})
	if err != nil {
		return err
	}
	run.Grace = func(error) time.Duration { return math.MaxInt64 }
	done := make(chan struct{})
	defer close(done)
	switch err := show(ctx, run, newPrinter(o), newAsker(o, s, done)); {
	case err != nil:
		return err
	case run.Outcome == event.Cancelled:
		return context.Canceled
	case run.Outcome == event.Failed:
		return fault.Errorf(fault.Internal, "%s", run.Reason)
	}
	return nil
}

// show shows what happens up to the end of the run and lets the person answer meanwhile. Questions may be answered by other clients,
// too, so neither waits for the other. What cannot be shown ends the run.
func show(ctx context.Context, run *follow.Run, p printer, a *asker) (err error) {
	events := make(chan event.Event)
	var failed error // set before events is closed
	go func() {
		defer close(events)
		failed = read(ctx, run, events)
	}()
	for {
		select {
		case e, ok := <-events:
			switch {
			case !ok:
				return cmp.Or(err, failed)
			case err != nil:
				continue
			}
			if err = p.print(e); err != nil {
				run.Cancel()
				continue
			}
			a.event(e.Body)
		case line, ok := <-a.input():
			a.line(line, ok)
		}
	}
}

// read hands over the events up to the end of the run. What is gone from the record, because the output was too slow, is a failure in
// its place.
func read(ctx context.Context, run *follow.Run, events chan<- event.Event) error {
	for b, err := range run.Events(ctx) {
		switch {
		case err != nil:
			return err
		case b.Gap != nil:
			text := fmt.Sprintf("gap: events %d–%d are no longer kept, as the output was too slow", b.Gap.After+1, b.Gap.First-1)
			events <- event.Event{Time: time.Now(), Body: event.SessionError{Kind: fault.Internal, Text: text}}
		}
		for _, e := range b.Entries {
			events <- e.Value
		}
	}
	return nil
}
