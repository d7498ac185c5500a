package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot/agent/sdk/release"
	"github.com/copilot-portal/portal/server"
)

// mirrorVariable names a mirror of the CLI's releases. The CLI's SDK reads it, too.
const mirrorVariable = "COPILOT_CLI_DOWNLOAD_BASE_URL"

// setup returns the command `portal setup`.
func setup(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "setup",
		Short: "Download the Copilot CLI",
		Long: `setup downloads the Copilot CLI ` + release.Version + ` for this machine from its releases, checks it
against their checksums, and puts it into the data directory, where the portal finds
it. It needs about 300 MB there.

Where the releases are out of reach, --from or ` + mirrorVariable + `
names a mirror, which serves v` + release.Version + `/SHA256SUMS.txt and the archives beside it.`,
		Example: "  portal setup && portal\n  portal setup --from https://mirror.example/copilot-cli",
		Args:    cobra.NoArgs,
	}
	from := c.Flags().String("from", "", "address of the releases (default: "+mirrorVariable+", else those on GitHub)")
	again := c.Flags().Bool("force", false, "download it even if it is there")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := p.load(cmd)
		if err != nil {
			return err
		}
		if config.DataDir == "" {
			return errors.New("there is no data directory for the Copilot CLI: choose one with --data-dir")
		}
		source := release.Source{Base: cmp.Or(*from, releases(p.Environ)), Progress: p.downloadProgress()}
		path := release.Path(config.DataDir)
		if _, err := os.Stat(path); err == nil && !*again {
			_, err := fmt.Fprintf(p.Out, "The Copilot CLI %s is already at %s\n", release.Version, path)
			return err
		}
		p.Err.Printf("Downloading the Copilot CLI %s from %s\n", release.Version, server.WithoutSecrets(source.Base))
		if err := source.Install(cmd.Context(), config.DataDir); err != nil {
			return fmt.Errorf("cannot get the Copilot CLI: %w", err)
		}
		_, err = fmt.Fprintf(p.Out, "The Copilot CLI %s is at %s\nSign in with: %s login\nOr try the portal without an account: portal --demo\n", release.Version, path, path)
		return err
	}
	return c
}

// releases returns the address of the CLI's releases or of their mirror.
func releases(environ []string) string {
	for _, variable := range environ {
		if mirror, ok := strings.CutPrefix(variable, mirrorVariable+"="); ok && mirror != "" {
			return mirror
		}
	}
	return release.Address
}

// downloadProgress returns a function that prints how much of a download has arrived: after each tenth, or each 10 MB if its size is
// unknown.
func (p Process) downloadProgress() func(received, total int64) {
	const megabyte = 1 << 20
	printed := int64(0)
	return func(received, total int64) {
		step := total / 10
		if total <= 0 {
			step = 10 * megabyte
		}
		if received < printed+step && received != total {
			return
		}
		printed = received
		if total <= 0 {
			p.Err.Printf("  %d MB\n", received/megabyte)
			return
		}
		p.Err.Printf("  %3d %% of %d MB\n", 100*received/total, total/megabyte)
	}
}
