// Package ask is the dialect of a terminal: one prompt, the answer as it
// streams, questions answered on the keyboard (`portal ask`).
package ask

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/copilot-portal/portal/copilot"
)

// Origin names this dialect in sessions and answers.
const Origin = "ask"

// Options of one question.
type Options struct {
	Prompt      string
	Mode        copilot.Mode
	Attachments []copilot.Attachment
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
	defer s.Close()
	if _, err := s.Prompt(copilot.Prompt{Text: o.Prompt, Mode: o.Mode, Attachments: o.Attachments}); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Cancel() }) // closed meanwhile: nothing to cancel
	defer stop()
	done := make(chan struct{})
	defer close(done)
	end, err := follow(context.WithoutCancel(ctx), s, newPrinter(o), newAsker(o, s, done))
	switch {
	case err != nil:
		return err
	case end.Outcome == copilot.Cancelled:
		return context.Canceled
	case end.Outcome == copilot.Failed:
		return copilot.Errorf(copilot.Internal, "%s", end.Text)
	}
	return nil
}

// follow shows the record up to the end of the run and lets the person answer
// meanwhile. Questions may be answered by other clients, too, so neither waits
// for the other.
func follow(ctx context.Context, s *copilot.Session, p printer, a *asker) (copilot.RunEnded, error) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan copilot.Event)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() { read(ctx, s.Record(), events) })
	for {
		select {
		case e := <-events:
			if err := p.print(e); err != nil {
				return copilot.RunEnded{}, errors.Join(err, s.Cancel())
			}
			if end, ok := e.Body.(copilot.RunEnded); ok {
				return end, nil
			}
			a.event(e.Body)
		case line, ok := <-a.listen():
			a.line(line, ok)
		}
	}
}

// read hands events over until the run has ended or ctx ends.
func read(ctx context.Context, r *copilot.Record, events chan<- copilot.Event) {
	for after := uint64(0); ; {
		entries, err := r.Next(ctx, after, 0)
		if err != nil {
			return // the session is closed only after the run, and one reader is never so far behind
		}
		for _, e := range entries {
			after = e.N
			select {
			case events <- e.Value:
			case <-ctx.Done():
				return
			}
		}
	}
}
