package command

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/server"
)

func sessionPermissions(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "permissions ID", Short: "List the permissions that a session remembers",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.firstID,
	}
	asJSON := c.Flags().Bool("json", false, "print them as JSON")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withSession(cmd, args[0], func(s *copilot.Session) error {
			remembered := s.Remembered()
			switch {
			case *asJSON:
				return writeJSON(p.Out, map[string]permission.Policy{"remembered": remembered})
			case len(remembered) == 0:
				p.Err.Printf("The session remembers no permissions.\n")
			}
			return writeTable(p.Out, slices.Sorted(maps.Keys(remembered)), func(rule string) []any {
				return []any{remembered[rule], plain(rule, maxRule)}
			})
		})
	}
	return c
}

func revokePermission(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "revoke ID RULE", Short: "Revoke a permission that a session remembers, or all of them",
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: p.idAndRule,
		Example: "  portal sessions revoke 3f2a 'exec.run(git status *)'\n  portal sessions revoke 3f2a --all",
	}
	all := c.Flags().Bool("all", false, "revoke all remembered permissions")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if *all != (len(args) == 1) || !*all && args[1] == "" {
			return fmt.Errorf("%wname a rule, as printed by portal sessions permissions, or use --all", errUsage)
		}
		return p.withSession(cmd, args[0], func(s *copilot.Session) error {
			rule := "" // all
			if !*all {
				rule = args[1]
			}
			err := s.Revoke(rule)
			if errors.Is(err, fault.ErrRuleNotFound) {
				return fmt.Errorf("%w: see portal sessions permissions %s", err, args[0])
			}
			return err
		})
	}
	return c
}

// idAndRule completes the id of a session, then one of the rules that it remembers.
func (p Process) idAndRule(cmd *cobra.Command, args []string, begun string) (rules []cobra.Completion, d cobra.ShellCompDirective) {
	if len(args) != 1 {
		return p.firstID(cmd, args, begun)
	}
	_ = p.withSessions(cmd, slog.LevelError+1, func(all *server.Sessions) error { // a shell completion prints no errors
		s, err := all.Find(cmd.Context(), args[0])
		if err == nil {
			rules = slices.Sorted(maps.Keys(s.Remembered()))
		}
		return err
	})
	return rules, cobra.ShellCompDirectiveNoFileComp
}

// maxRule is the length, in characters, to which rules are cut.
const maxRule = 4200
