package command

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/copilot-portal/portal/copilot/permission"
)

// foreign finds the flags on a command line that its command does not know. Those that look like one of ours, or are one of
// another command, are errors: they would be missed.
func foreign(cmd *cobra.Command, args []string) (unknown []string, err error) {
	for _, arg := range args {
		name, isLong := strings.CutPrefix(arg, "--")
		switch {
		case isLong && name == "": // behind it there are no flags
			return unknown, nil
		case !isLong && len(arg) > 1 && arg[0] == '-':
			unknown = append(unknown, arg)
			continue
		case !isLong:
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if cmd.Flags().Lookup(name) != nil {
			continue
		}
		if own := similar(cmd, name); own != "" {
			return nil, fmt.Errorf("%wunknown flag: --%s (there is --%s)", errUsage, name, own)
		}
		if cmd.Root().Flags().Lookup(name) != nil {
			return nil, fmt.Errorf("%wunknown flag: --%s", errUsage, name)
		}
		unknown = append(unknown, "--"+name)
	}
	return unknown, nil
}

// similar is the flag of a command that a name was probably meant for; "" if there is none.
func similar(cmd *cobra.Command, name string) (own string) {
	const typo = 2 // letters that are wrong
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if levenshtein.ComputeDistance(f.Name, name) <= typo {
			own = f.Name
		}
	})
	return own
}

// approved are the permissions that an approval mode of terminal UIs stands for, over the configured ones; not ok for a mode that
// is not known.
func approved(mode string) (rules permission.Policy, ok bool) {
	switch mode {
	case "", "minimal", "trusted": // that trusts a workspace, for which there is no rule that holds outside it
		return nil, true
	case "full-access":
		return permission.Everywhere(permission.Allow), true
	}
	return nil, false
}
