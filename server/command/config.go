package command

import "github.com/spf13/cobra"

// config returns the command `portal config`.
func config(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "config [port]",
		Short: "Print the effective configuration",
		Long: `config prints the effective configuration in the format of the configuration file.
A comment after each value says where it comes from: flag, variable, file or
default. The command accepts the flags of portal and shows their effect. A comment
replaces each secret.`,
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
	c.Flags().Bool("show-secrets", false, "include tokens and keys")
	return c
}
