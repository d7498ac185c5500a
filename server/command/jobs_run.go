package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/server"
)

const directoryFlag = "directory"

func runJob(p Process) *cobra.Command {
	c := booked(&cobra.Command{
		Use: "run NAME [INPUT…]", Short: "Do a job in this terminal, and show how it goes",
		Long: `run does a job of the book. In a terminal it shows the works and how each stands,
elsewhere a line for each event. Ctrl-C cancels the job; portal jobs continue goes
on with it. The code is 0 if it succeeded, 1 if it failed, 130 if it was cancelled.

Nobody is asked meanwhile: permissions.jobs in the configuration says what the
agent may do (default: everything that permissions.rules does not restrict). What
it would have to ask for is declined.`,
		Example: `  portal jobs run understand
  portal jobs run refine 'A page about our release process'
  git log -5 | portal jobs run refine -`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: p.knownJobs,
	})
	c.Flags().String(directoryFlag, ".", "working directory of the job, whose repository's book is used")
	asJSON := c.Flags().Bool("json", false, "print events as lines of JSON")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := directoryOf(cmd)
		if err != nil {
			return err
		}
		if _, _, err := p.bookAt(cmd, dir); err != nil {
			return err
		}
		input, err := p.input(args[1:])
		if err != nil {
			return err
		}
		return p.work(cmd, dir, *asJSON, func(all *jobs.Host) (*jobs.Job, error) {
			return all.StartJob(cmd.Context(), jobs.JobRequest{Name: args[0], Directory: dir, Input: input})
		})
	}
	return c
}

func continueJob(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "continue ID", Short: "Go on with a job that did not succeed, from its first work not done", Args: cobra.ExactArgs(1),
		ValidArgsFunction: p.firstJob,
		Long: `continue starts a job that goes on where another one ended: in its directory, with
its input and its book. All else is as with run.`,
	}
	asJSON := c.Flags().Bool("json", false, "print events as lines of JSON")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.work(cmd, ".", *asJSON, func(all *jobs.Host) (*jobs.Job, error) {
			if err := all.Recover(cmd.Context()); err != nil {
				return nil, err
			}
			old, err := server.FindJob(cmd.Context(), all, args[0])
			if err != nil {
				return nil, err
			}
			return all.Continue(cmd.Context(), old.ID())
		})
	}
	return c
}

// input is the user input of a job: the arguments, or with "-" what is piped in.
func (p Process) input(args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	text, err := io.ReadAll(p.In)
	return strings.TrimRight(string(text), "\r\n"), err
}

// work does a job and shows it up to its end.
func (p Process) work(cmd *cobra.Command, dir string, asJSON bool, start func(*jobs.Host) (*jobs.Job, error)) error {
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	return server.WithJobs(ctx, config, dir, p.logger(config, slog.LevelError), func(all *jobs.Host) error {
		j, err := start(all)
		switch {
		case errors.Is(err, jobs.ErrNotInBook):
			return copilot.Errorf(copilot.NotFound, "%w: see portal jobs list", err)
		case err != nil:
			return err
		}
		if err := follow(ctx, j, p.display(j, asJSON)); err != nil {
			return err
		}
		return outcome(j.Info())
	})
}

// outcome is how the command ends.
func outcome(i jobs.JobInfo) error {
	switch i.Status {
	case jobs.Succeeded:
		return nil
	case jobs.Canceled:
		return context.Canceled
	case jobs.Failed, jobs.Interrupted, jobs.Pending, jobs.Running:
	}
	return errSilent
}

// display shows a job. Its methods are called one after another.
type display interface {
	event(e jobs.Event, i jobs.JobInfo) error
	tick(i jobs.JobInfo) error // a second has gone by
	cancelling(i jobs.JobInfo) error
	end(i jobs.JobInfo) error
}

// follow shows a job up to its end. When ctx ends it is cancelled.
func follow(ctx context.Context, j *jobs.Job, d display) error {
	cancelJob := func() { _ = j.Cancel(context.WithoutCancel(ctx)) } // it may have ended: the record tells
	stop := context.AfterFunc(ctx, cancelJob)
	defer stop()
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	events, ended := make(chan jobs.Event), make(chan error, 1)
	go func() {
		ended <- readJob(reading, j, events)
		close(ended)
	}()
	err := show(ctx, j, d, events, ended)
	cancel()
	for range ended { // the reading may not be over
		continue
	}
	if err != nil {
		cancelJob() // nobody sees it any more
	}
	return err
}

// show shows events up to the end of the job.
func show(ctx context.Context, j *jobs.Job, d display, events <-chan jobs.Event, ended <-chan error) (err error) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	cancelled := ctx.Done()
	for err == nil {
		select {
		case e := <-events:
			err = d.event(e, j.Info())
		case <-every.C:
			err = d.tick(j.Info())
		case <-cancelled:
			cancelled = nil
			err = d.cancelling(j.Info())
		case err = <-ended:
			if err == nil {
				err = d.end(j.Info())
			}
			return err
		}
	}
	return fmt.Errorf("showing the job: %w", err)
}

// readJob hands all events over; nil at the end of the job.
func readJob(ctx context.Context, j *jobs.Job, events chan<- jobs.Event) error {
	for after := uint64(0); ; {
		list, err := j.Next(ctx, after, 0)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for _, e := range list {
			select {
			case events <- e:
				after = e.Number
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}
