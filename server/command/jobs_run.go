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

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/server"
)

const directoryFlag = "directory"

func runJob(p Process) *cobra.Command {
	c := addBookFlag(&cobra.Command{
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
		return p.runJob(cmd, dir, *asJSON, func(all *jobs.Host) (*jobs.Job, error) {
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
		return p.runJob(cmd, ".", *asJSON, func(all *jobs.Host) (*jobs.Job, error) {
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

// runJob does a job and shows it up to its end.
func (p Process) runJob(cmd *cobra.Command, dir string, asJSON bool, start func(*jobs.Host) (*jobs.Job, error)) error {
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	return server.WithJobs(ctx, config, dir, p.logger(config, slog.LevelError), func(all *jobs.Host) error {
		j, err := start(all)
		switch {
		case errors.Is(err, jobs.ErrNotInBook):
			return fault.Errorf(fault.NotFound, "%w: see portal jobs list", err)
		case err != nil:
			return err
		}
		if err := followJob(ctx, j, p.display(asJSON)); err != nil {
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

// update is what a display is told: an event, that the person has cancelled the job, that it has ended, or that a second
// has gone by.
type update struct {
	event            *jobs.Event
	cancelled, ended bool
}

// display shows an update of a job.
type display func(update, jobs.JobInfo) error

// followJob shows a job up to its end. When ctx ends it is cancelled, and so it is when it cannot be shown any more.
func followJob(ctx context.Context, j *jobs.Job, show display) (err error) {
	cancelJob := func() { _ = j.Cancel(context.WithoutCancel(ctx)) } // it may have ended: the record tells
	defer context.AfterFunc(ctx, cancelJob)()
	defer func() {
		if err != nil {
			cancelJob()
		}
	}()
	r, told := j.Reader(0), false // told: of the cancelling
	r.Idle = func() time.Duration { return time.Second }
	for err == nil {
		waiting := ctx
		if told {
			waiting = context.WithoutCancel(ctx)
		}
		b, fault := r.Next(waiting)
		switch {
		case errors.Is(fault, io.EOF):
			return show(update{ended: true}, j.Info())
		case fault == nil && len(b.Entries) == 0:
			err = show(update{}, j.Info())
		case fault == nil:
			for i := 0; i < len(b.Entries) && err == nil; i++ {
				err = show(update{event: &b.Entries[i]}, j.Info())
			}
		case waiting.Err() != nil:
			told = true
			err = show(update{cancelled: true}, j.Info())
		default:
			return fault
		}
	}
	return fmt.Errorf("showing the job: %w", err)
}
