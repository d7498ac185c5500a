package command

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/copilot-portal/portal/copilot/permission"
)

// foreign returns the flags in args that cmd does not define. It returns an error for flags that look like a
// misspelt flag of cmd or that belong to another command, because ignoring those would surprise the user.
func foreign(cmd *cobra.Command, args []string) (unknown []string, err error) {
	for _, arg := range args {
		name, isLong := strings.CutPrefix(arg, "--")
		switch {
		case isLong && name == "": // no flags follow
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

// similar returns the flag of cmd whose name is nearest to the given one within two letters, or "".
func similar(cmd *cobra.Command, name string) (own string) {
	const typo = 2 // maximum edit distance
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if levenshtein.ComputeDistance(f.Name, name) <= typo {
			own = f.Name
		}
	})
	return own
}

// approved returns the permissions of an approval mode of terminal UIs, which precede the configured ones. It
// returns false for an unknown mode.
func approved(mode string) (rules permission.Policy, ok bool) {
	switch mode {
	case "", "minimal", "trusted": // trusted: no rule is limited to a workspace
		return nil, true
	case "full-access":
		return permission.Everywhere(permission.Allow), true
	}
	return nil, false
}
