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
		Use: "run NAME [INPUT…]", Short: "Run a job in this terminal and show its progress",
		Long: `run runs a job of the book. A terminal shows the works of the job with their state;
other outputs get one line per event. Ctrl-C cancels the job; portal jobs continue
resumes it. The exit code is 0 if the job succeeded, 1 if it failed and 130 if it
was cancelled.

A job asks no questions. permissions.jobs in the configuration says what the agent
may do (default: everything that permissions.rules does not restrict). Requests
that would need an answer are declined.`,
		Example: `  portal jobs run understand
  portal jobs run refine 'A page about our release process'
  git log -5 | portal jobs run refine -`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: p.knownJobs,
	})
	c.Flags().String(directoryFlag, ".", "working directory of the job; the book of its repository is used")
	asJSON := c.Flags().Bool("json", false, "print one JSON event per line")
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
		config, err := p.load(cmd)
		if err != nil {
			return err
		}
		return server.WithJobs(cmd.Context(), config, dir, p.logger(config, slog.LevelError), func(all *jobs.Host) error {
			j, err := all.StartJob(cmd.Context(), jobs.JobRequest{Name: args[0], Directory: dir, Input: input})
			switch {
			case errors.Is(err, jobs.ErrNotInBook):
				return fault.Errorf(fault.NotFound, "%w: see portal jobs list", err)
			case err != nil:
				return err
			}
			return p.showUntilEnd(cmd.Context(), j, *asJSON)
		})
	}
	return c
}

func continueJob(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "continue ID", Short: "Continue a job that did not succeed, from its first unfinished work", Args: cobra.ExactArgs(1),
		ValidArgsFunction: p.firstJob,
		Long: `continue starts a new job that continues where another one ended, with the same
directory, input and book. Otherwise it works like run.`,
	}
	asJSON := c.Flags().Bool("json", false, "print one JSON event per line")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withJobs(cmd, slog.LevelError, func(all *jobs.Host) error {
			old, err := server.FindJob(cmd.Context(), all, args[0])
			if err != nil {
				return err
			}
			j, err := all.Continue(cmd.Context(), old.ID())
			if err != nil {
				return err
			}
			return p.showUntilEnd(cmd.Context(), j, *asJSON)
		})
	}
	return c
}

// input returns the user input of a job: the arguments, or standard input if the only argument is "-".
func (p Process) input(args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, " "), nil
	}
	text, err := io.ReadAll(p.In)
	return strings.TrimRight(string(text), "\r\n"), err
}

// showUntilEnd shows a job until it ends, and returns an error unless it succeeded.
func (p Process) showUntilEnd(ctx context.Context, j *jobs.Job, asJSON bool) error {
	if err := followJob(ctx, j, p.display(asJSON)); err != nil {
		return err
	}
	switch j.Info().Status { //nolint:exhaustive // the others are failures
	case jobs.Succeeded:
		return nil
	case jobs.Canceled:
		return context.Canceled
	}
	return errSilent
}

// update is one call of a display.
type update struct {
	kind  updateKind
	event jobs.Event // of jobEvent
}

type updateKind int

const (
	secondPassed updateKind = iota
	jobEvent
	jobCancelled // by the person
	jobEnded
)

// display shows an update of a job.
type display func(update, jobs.JobInfo) error

// followJob shows a job until it ends. It cancels the job when ctx ends or when show fails.
func followJob(ctx context.Context, j *jobs.Job, show display) (err error) {
	cancelJob := func() { _ = j.Cancel(context.WithoutCancel(ctx)) } // if the job has ended already, its record says so
	defer context.AfterFunc(ctx, cancelJob)()
	defer func() {
		if err != nil {
			cancelJob()
		}
	}()
	r := j.Reader(0)
	r.Idle = func() time.Duration { return time.Second }
	waiting := ctx // until the cancellation has been shown
	for err == nil {
		if waiting.Err() != nil { // the next read may find the end of the job instead
			waiting = context.WithoutCancel(ctx) //nolint:fatcontext // once
			err = show(update{kind: jobCancelled}, j.Info())
			continue
		}
		b, fault := r.Next(waiting)
		switch {
		case errors.Is(fault, io.EOF):
			return show(update{kind: jobEnded}, j.Info())
		case fault == nil && len(b.Entries) == 0:
			err = show(update{kind: secondPassed}, j.Info())
		case fault == nil:
			for i := 0; i < len(b.Entries) && err == nil; i++ {
				err = show(update{kind: jobEvent, event: b.Entries[i]}, j.Info())
			}
		case waiting.Err() == nil:
			return fault
		}
	}
	return fmt.Errorf("showing the job: %w", err)
}
