package command

import "github.com/spf13/cobra"

// config is `portal config`.
func config(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "config [port]",
		Short: "Print the configuration in force",
		Long: `config prints the configuration in force as its file would have it. A comment
behind each value says where it came from: flag, variable, file or default. It
takes the flags of portal, so it tells what portal would do with them. Secrets
are left out, with a comment in their place.`,
		Example: "  portal config\n  PORTAL_PORT=9000 portal config --show-secrets > config.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := p.load(cmd)
			if err != nil {
				return err
			}
			secrets, _ := cmd.Flags().GetBool("show-secrets") // defined below
			text, err := config.YAML(secrets)
			if err != nil {
				return err
			}
			_, err = p.Out.Write(text)
			return err
		},
	}
	c.Flags().Bool("show-secrets", false, "write tokens and keys, too")
	return c
}
