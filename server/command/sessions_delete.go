package command

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/server"
)

func deleteSessions(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "delete ID…", Short: "Delete sessions with their records, including what the Copilot CLI saved",
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: p.knownIDs,
	}
	yes := c.Flags().BoolP("yes", "y", false, "do not ask for confirmation")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !*yes && !term.IsTerminal(int(p.In.Fd())) {
			return fmt.Errorf("%wstandard input is not a terminal, so there is nobody to ask: confirm with --yes", errUsage)
		}
		silent := slog.LevelError + 1 // failures are printed below
		return p.withSessions(cmd, silent, func(all *server.Sessions) error {
			list, err := findAll(cmd.Context(), all, args)
			if err != nil {
				return err
			}
			if !*yes {
				if ok, err := p.confirm(cmd.Context(), list); !ok {
					return err
				}
			}
			return p.deleteAll(cmd.Context(), all, list)
		})
	}
	return c
}

// findAll returns the sessions that the arguments name, without duplicates. If one does not exist, it returns
// an error, and nothing is deleted.
func findAll(ctx context.Context, all *server.Sessions, ids []string) (list []copilot.Info, err error) {
	for _, id := range ids {
		s, err := all.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		info := s.Info()
		if !slices.ContainsFunc(list, func(i copilot.Info) bool { return i.ID == info.ID }) {
			list = append(list, info)
		}
	}
	return list, nil
}

// confirm asks whether to delete the sessions.
func (p Process) confirm(ctx context.Context, list []copilot.Info) (bool, error) {
	if err := writeSessions(p.Terminal, list); err != nil {
		return false, err
	}
	if _, err := fmt.Fprint(p.Terminal, "Delete permanently? [y/N] "); err != nil {
		return false, err
	}
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(p.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		return line == "y" || line == "yes", nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// deleteAll deletes all sessions that it can, and prints an error for each of the others.
func (p Process) deleteAll(ctx context.Context, all *server.Sessions, list []copilot.Info) (err error) {
	for _, i := range list {
		left, fault := all.Delete(ctx, i.ID)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case fault != nil:
			p.Err.Printf("portal: cannot delete %s: %v\n", i.ID, fault)
			err = errSilent
		case left != nil:
			p.Err.Printf("portal: %s: %v\n", i.ID, left)
		}
	}
	return err
}

// firstID completes the id of the first argument.
func (p Process) firstID(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.knownIDs(cmd, args, begun)
}

// maxProposed is the maximum number of sessions in a shell completion.
const maxProposed = 100

// knownIDs completes ids of sessions that are not yet among the arguments.
func (p Process) knownIDs(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var ids []cobra.Completion
	_ = p.withSessions(cmd, slog.LevelError+1, func(all *server.Sessions) error { // a shell completion prints no errors
		list, _, err := all.List(cmd.Context(), maxProposed)
		for _, i := range list {
			if !slices.Contains(args, i.ID) {
				ids = append(ids, cobra.CompletionWithDesc(i.ID, plain(i.Title, maxTitle)))
			}
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
