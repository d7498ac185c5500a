package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// complete registers the shell completions of flags and arguments. Cobra provides the command that prints the
// completion scripts.
func complete(root *cobra.Command, p Process) {
	if c, _, err := root.Find([]string{"completion"}); err == nil {
		c.RunE = func(*cobra.Command, []string) error {
			return fmt.Errorf("%wname a shell: bash, zsh, fish or powershell", errUsage)
		}
	}
	files := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	eachCommand(root, func(c *cobra.Command) {
		if c.ValidArgsFunction == nil {
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
		for flag, values := range map[string]cobra.CompletionFunc{
			"permissions":  cobra.FixedCompletions([]cobra.Completion{string(permission.Allow), string(permission.Ask), string(permission.Deny)}, cobra.ShellCompDirectiveNoFileComp),
			"mode":         cobra.FixedCompletions([]cobra.Completion{string(event.ModeInteractive), string(event.ModePlan), string(event.ModeAutopilot)}, cobra.ShellCompDirectiveNoFileComp),
			"format":       cobra.FixedCompletions([]cobra.Completion{"markdown", "jsonl"}, cobra.ShellCompDirectiveNoFileComp),
			"output":       files,
			"limit":        cobra.NoFileCompletions,
			"attach":       files,
			"copilot-path": files,
			"model":        p.configuredModels,
			"config":       cobra.FixedCompletions([]cobra.Completion{"yaml", "yml", "json", "toml"}, cobra.ShellCompDirectiveFilterFileExt),
			bookFlag:       cobra.FixedCompletions([]cobra.Completion{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt),
			directoryFlag:  cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
			"cwd":          cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
			"data-dir":     cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
			"host":         cobra.FixedCompletions([]cobra.Completion{"localhost", "127.0.0.1", "0.0.0.0"}, cobra.ShellCompDirectiveNoFileComp),
			"port":         cobra.NoFileCompletions,
			"base-path":    cobra.NoFileCompletions,
			"token":        cobra.NoFileCompletions,

			"sandbox-network": cobra.FixedCompletions([]cobra.Completion{string(sandbox.Shared), string(sandbox.Model)}, cobra.ShellCompDirectiveNoFileComp),
		} {
			if c.LocalFlags().Lookup(flag) != nil {
				_ = c.RegisterFlagCompletionFunc(flag, values) // fails only if registered twice
			}
		}
	})
}

func eachCommand(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, do)
	}
}

// configuredModels completes the models that the configuration names. Only the agent knows the others, and
// asking it takes too long for a completion.
func (p Process) configuredModels(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, err := p.load(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return config.KnownModels(), cobra.ShellCompDirectiveNoFileComp
}
