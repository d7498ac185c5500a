package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/handlers/rest"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/server"
)

// withJobs calls do with the stored jobs.
func (p Process) withJobs(cmd *cobra.Command, usual slog.Level, do func(*jobs.Host) error) error {
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	if config.Ephemeral {
		return fmt.Errorf("%w--ephemeral stores no jobs; omit it for this command", errUsage)
	}
	return server.WithStoredJobs(cmd.Context(), config, p.logger(config, usual), do)
}

func jobStatus(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "status [ID]", Short: "List running and recent jobs, or show one job with its works and sessions",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: p.firstJob,
	}
	asJSON := c.Flags().Bool("json", false, "print it as JSON, as api/copilot/job/history and api/copilot/job/{id}/status do")
	limit := c.Flags().Int("limit", 20, "maximum number of jobs to list")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if *limit < 1 {
			return fmt.Errorf("%w--limit must be at least 1", errUsage)
		}
		return p.withJobs(cmd, slog.LevelError, func(all *jobs.Host) error {
			if len(args) == 1 {
				return p.showJob(cmd.Context(), all, args[0], *asJSON)
			}
			list, err := all.Jobs(cmd.Context(), *limit)
			switch {
			case err != nil:
				return err
			case *asJSON:
				return writeJSON(p.Out, map[string]any{"jobs": rest.SummarizeJobs(list)})
			case len(list) == 0:
				p.Err.Printf("No jobs are stored. portal jobs list shows the jobs that you can run.\n")
			}
			return writeTable(p.Out, list, func(i jobs.JobInfo) []any {
				return []any{
					short(i.ID), shortTime(i.Started, time.Now()), i.Status,
					plain(i.Name, maxName), plain(shortenHome(i.Directory), maxName), plain(secret.Mask(i.Input), maxTitle),
				}
			})
		})
	}
	return c
}

func (p Process) showJob(ctx context.Context, all *jobs.Host, id string, asJSON bool) error {
	j, err := server.FindJob(ctx, all, id)
	if err != nil {
		return err
	}
	i := j.Info()
	if asJSON {
		return writeJSON(p.Out, rest.DescribeJob(i))
	}
	sessions, err := sessionsOf(ctx, all, i)
	if err != nil {
		return err
	}
	return writeJob(p.Out, i, sessions)
}

// sessionsOf returns the sessions of each work of a job, from the latest start of the work.
func sessionsOf(ctx context.Context, all *jobs.Host, i jobs.JobInfo) (map[int][]jobs.TaskSession, error) {
	sessions := map[int][]jobs.TaskSession{}
	for _, w := range i.Works {
		if w.Task == "" {
			continue
		}
		t, err := all.Task(ctx, w.Task)
		if errors.Is(err, jobs.ErrTaskNotFound) {
			continue // the job was removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		sessions[w.Work] = t.Info().Sessions
	}
	return sessions, nil
}

func writeJob(w io.Writer, i jobs.JobInfo, sessions map[int][]jobs.TaskSession) error {
	lines := []string{
		fmt.Sprintf("%s %s: %s for %v, since %s, in %s", plain(i.Name, maxName), i.ID, i.Status, elapsed(i), shortTime(i.Started, time.Now()), plain(i.Directory, maxName)),
	}
	for _, about := range [][2]string{{"input: ", secret.Mask(i.Input)}, {"continues: ", i.Continues}, {"error: ", i.Error}} {
		if about[1] != "" {
			lines = append(lines, about[0]+plain(about[1], maxNote))
		}
	}
	if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
		return err
	}
	return writeTable(w, i.Works, func(work jobs.Progress) []any {
		var labels []string
		for _, s := range sessions[work.Work] {
			labels = append(labels, label(s.ID, s.Checks, " (checks)"))
		}
		return []any{work.Work, plain(work.Name, maxName), work.Status, fmt.Sprintf("×%d", work.Rounds), strings.Join(labels, ", ")}
	})
}

func cancelJob(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "cancel ID", Short: "Cancel a running job", Args: cobra.ExactArgs(1), ValidArgsFunction: p.firstJob,
		Long: `cancel asks the process that runs a job, a portal or portal jobs run, to cancel it,
and waits until its sessions are closed.`,
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withJobs(cmd, slog.LevelError, func(all *jobs.Host) error {
			j, err := server.FindJob(cmd.Context(), all, args[0])
			if err != nil {
				return err
			}
			err = j.Cancel(cmd.Context())
			if err == nil {
				p.Err.Printf("%s is cancelled.\n", j.ID())
			}
			return err
		})
	}
	return c
}

// firstJob completes the id of a job.
func (p Process) firstJob(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var ids []cobra.Completion
	if len(args) == 0 {
		_ = p.withJobs(cmd, slog.LevelError+1, func(all *jobs.Host) error { // a shell completion prints no errors
			list, err := all.Jobs(cmd.Context(), maxProposed)
			for _, i := range list {
				ids = append(ids, cobra.CompletionWithDesc(i.ID, plain(i.Name, maxTitle)+" "+strings.ToLower(string(i.Status))))
			}
			return err
		})
	}
	return slices.Clip(ids), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
