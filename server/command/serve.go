package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/server"
)

// port sets the flag port from the only argument, if there is one.
func port(cmd *cobra.Command, args []string) error {
	flag := cmd.Flags().Lookup("port")
	switch {
	case len(args) > 1:
		return fmt.Errorf("expected at most one port, not %q", args)
	case len(args) == 1 && flag.Changed:
		return errors.New("give the port either as an argument or with --port, not both")
	case len(args) == 0 && !flag.Changed:
		return nil
	case len(args) == 0:
		args = []string{flag.Value.String()}
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is not a port: use a number from 0 to 65535", args[0])
	}
	return cmd.Flags().Set("port", strconv.Itoa(n)) // without leading zeros, which would make it octal
}

// serve runs `portal [port]`.
func serve(cmd *cobra.Command, p Process) error {
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	if err := watchParent(ctx, cmd, p, cancel); err != nil {
		return err
	}
	if err := errors.Join(config.CheckKeys(), config.CheckBook()); err != nil {
		return err
	}
	s := server.New(ctx, config, p.Version, p.logger(config, slog.LevelInfo))
	if err := s.Listen(ctx); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(p.Out, "SIDECAR_PORT=%d\n", s.Port()); err != nil {
		cancel() // so that Serve only closes the portal
		return errors.Join(fmt.Errorf("printing the port: %w", err), s.Serve(ctx))
	}
	p.Err.Printf("The portal is listening: %s\n", s.URL())
	if config.LAN {
		printLAN(ctx, p, s)
	}
	for _, allowed := range []struct {
		by   permission.Decision
		text string
	}{
		{config.Permissions.Rest, "Sessions of plain REST scripts may do everything that permissions.rules does not restrict. To change this, set permissions.rest."},
		{config.Permissions.Operations, "The same holds for operations. To change this, set permissions.operations."},
		{config.Permissions.Jobs, "The same holds for jobs. To change this, set permissions.jobs."},
		{config.Permissions.CLI, "The same holds for chats of the studio. To change this, set permissions.cli."},
	} {
		if allowed.by == permission.Allow {
			p.Err.Printf("%s\n", allowed.text)
		}
	}
	return s.Serve(ctx)
}
