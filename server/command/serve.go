package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/server"
)

// port sets the flag port from the only argument, if there is one.
func port(cmd *cobra.Command, args []string) error {
	flag := cmd.Flags().Lookup("port")
	if len(args) > 0 {
		if err := misspelt(cmd, args[0]); err != nil {
			return err
		}
	}
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

// misspelt returns an error if a word looks like the name of a subcommand.
func misspelt(cmd *cobra.Command, word string) error {
	if word == "" {
		return nil
	}
	if names := cmd.SuggestionsFor(word); len(names) > 0 {
		return fmt.Errorf("%q is not a command: did you mean %s?", word, strings.Join(names, " or "))
	}
	return nil
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
	if err := errors.Join(config.CheckDataDir(), config.CheckKeys(), config.CheckBook()); err != nil {
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
	if warning := unrestricted(config.Permissions); warning != "" {
		p.Err.Printf("%s\n", warning)
	}
	return s.Serve(ctx)
}

// unrestricted names the sessions that may do everything, and their settings; "" if there are none.
func unrestricted(p server.Permissions) string {
	var sessions, settings []string
	for _, kind := range []struct {
		by                permission.Decision
		sessions, setting string
	}{
		{p.Rest, "plain REST scripts", "permissions.rest"},
		{p.Operations, "operations", "permissions.operations"},
		{p.Jobs, "jobs", "permissions.jobs"},
		{p.CLI, "chats of portal cli", "permissions.cli"},
	} {
		if kind.by == permission.Allow {
			sessions, settings = append(sessions, kind.sessions), append(settings, kind.setting)
		}
	}
	if len(sessions) == 0 {
		return ""
	}
	return fmt.Sprintf("Sessions of %s may do everything that permissions.rules does not restrict. To change this, set %s.",
		enumerate(sessions), strings.Join(settings, ", "))
}

// enumerate joins words to "a, b and c".
func enumerate(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
