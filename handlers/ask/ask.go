// Package ask is the dialect of a terminal (`portal ask`): it sends one prompt, streams the answer, and takes answers to
// questions from the keyboard.
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

// Origin identifies this dialect in sessions and answers.
const Origin = "ask"

// Options configure one run.
type Options struct {
	Prompt      string
	Mode        event.Mode
	Attachments []event.Attachment
	Start       copilot.Start // Run sets its Origin
	JSON        bool          // write events as lines of JSON instead of text

	Out   io.Writer // for the answer or the JSON
	Notes io.Writer // for progress and questions
	Keys  io.Reader // answers to questions; nil: no one can answer
	Color bool      // Notes is a terminal that shows colors
	// Person means that someone types Keys. A line that is typed while nothing is asked is then ignored, because the answer of the model may
	// look like a question. Otherwise it waits for the next question.
	Person bool
}

// Run sends the prompt and waits for the end of its run. It returns errors of starting
// the session and of a failed run; for a cancelled run, [context.Canceled].
func Run(ctx context.Context, host *copilot.Host, o Options) error {
	prompt := event.Prompt{Text: o.Prompt, Mode: o.Mode, Attachments: o.Attachments, By: Origin}
	if err := prompt.Check(); err != nil { // before the agent starts
		return err
	}
	o.Start.Origin = Origin
	o.Start.AskUser = o.Start.AskUser && o.Keys != nil
	s, err := host.Start(ctx, o.Start)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // fails only if the session is closed already
	run, err := follow.Session(host, s, 0).Prompt(prompt)
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

// show prints events up to the end of the run and takes answers meanwhile. Other clients may answer questions,
// too, so neither waits for the other. A failed print cancels the run.
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

// read sends the events up to the end of the run. It replaces a gap, which a slow output causes, by an
// error event.
func read(ctx context.Context, run *follow.Run, events chan<- event.Event) error {
	for b, err := range run.Events(ctx) {
		switch {
		case err != nil:
			return err
		case b.Gap != nil:
			text := fmt.Sprintf("gap: events %d–%d are no longer kept, because the output was too slow", b.Gap.After+1, b.Gap.First-1)
			events <- event.Event{Time: time.Now(), Body: event.SessionError{Kind: fault.Internal, Text: text}}
		}
		for _, e := range b.Entries {
			events <- e.Value
		}
	}
	return nil
}
