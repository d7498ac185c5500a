// Package ask is the dialect of a terminal: one prompt, the answer as it
// streams, questions answered on the keyboard (`portal ask`).
package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
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
	if _, err := s.Prompt(event.Prompt{Text: o.Prompt, Mode: o.Mode, Attachments: o.Attachments, By: Origin}); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Cancel("") }) // closed meanwhile: nothing to cancel
	defer stop()
	done := make(chan struct{})
	defer close(done)
	end, err := follow(context.WithoutCancel(ctx), s, newPrinter(o), newAsker(o, s, done))
	switch {
	case err != nil:
		return err
	case end.Outcome == event.Cancelled:
		return context.Canceled
	case end.Outcome == event.Failed:
		return fault.Errorf(fault.Internal, "%s", end.Text)
	}
	return nil
}

// follow shows the record up to the end of the run and lets the person answer
// meanwhile. Questions may be answered by other clients, too, so neither waits
// for the other.
func follow(ctx context.Context, s *copilot.Session, p printer, a *asker) (event.RunEnded, error) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan event.Event)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	failed := make(chan error, 1)
	reading.Go(func() { failed <- read(ctx, s.Record(), events) })
	for {
		select {
		case err := <-failed:
			return event.RunEnded{}, err
		case e := <-events:
			if err := p.print(e); err != nil {
				return event.RunEnded{}, errors.Join(err, s.Cancel(""))
			}
			if end, ok := e.Body.(event.RunEnded); ok {
				return end, nil
			}
			a.event(e.Body)
		case line, ok := <-a.input():
			a.line(line, ok)
		}
	}
}

// read hands events over until ctx ends or there are no more. What is gone from
// the record, because the output was too slow, is told as a failure in its place.
func read(ctx context.Context, r *event.Record, events chan<- event.Event) error {
	for after := uint64(0); ; {
		entries, err := r.Next(ctx, after, 0)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			text := fmt.Sprintf("gap: events %d–%d are no longer kept, as the output was too slow", gap.After+1, gap.First-1)
			lost := event.Event{Time: time.Now(), Body: event.SessionError{Kind: fault.Internal, Text: text}}
			entries = []journal.Entry[event.Event]{{N: gap.First - 1, Value: lost}}
		case err != nil:
			return err
		}
		for _, e := range entries {
			after = e.N
			select {
			case events <- e.Value:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}
