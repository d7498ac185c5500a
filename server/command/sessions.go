package command

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/export"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/handlers/rest"
	"github.com/copilot-portal/portal/server"
)

// sessions returns the command `portal sessions`.
func sessions(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, search, export, rename and delete stored sessions, and revoke permissions they remember",
		Long: `sessions works directly on the data directory, whether or not a portal is running.
A portal that holds a session executes the change. An ID may be abbreviated to an
unambiguous prefix.`,
		Args: cobra.NoArgs,
		RunE: nameSubcommand,
	}
	c.AddCommand(listSessions(p), showSession(p), searchSessions(p), exportSession(p), renameSession(p), deleteSessions(p),
		sessionPermissions(p), revokePermission(p))
	return c
}

// withSessions calls do with the sessions of the data directory.
func (p Process) withSessions(cmd *cobra.Command, usual slog.Level, do func(*server.Sessions) error) error {
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	if config.Ephemeral {
		return fmt.Errorf("%w--ephemeral stores no sessions; omit it for this command", errUsage)
	}
	return server.WithSessions(cmd.Context(), config, p.logger(config, usual), do)
}

// withSession calls do with one session of the data directory.
func (p Process) withSession(cmd *cobra.Command, id string, do func(*copilot.Session) error) error {
	return p.withSessions(cmd, slog.LevelError, func(all *server.Sessions) error {
		s, err := all.Find(cmd.Context(), id)
		if err != nil {
			return err
		}
		return do(s)
	})
}

func listSessions(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List sessions, most recently changed first", Args: cobra.NoArgs,
		Example: "  portal sessions list\n  portal sessions list --all --json",
	}
	asJSON := c.Flags().Bool("json", false, "print them as JSON, as api/copilot/session does")
	limit := c.Flags().Int("limit", 20, "maximum number of sessions")
	all := c.Flags().Bool("all", false, "list all sessions")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *all && cmd.Flags().Changed("limit"):
			return fmt.Errorf("%wuse --limit or --all, not both", errUsage)
		case *all:
			*limit = 0
		case *limit < 1:
			return fmt.Errorf("%w--limit must be at least 1", errUsage)
		}
		return p.withSessions(cmd, slog.LevelError, func(s *server.Sessions) error {
			list, more, err := s.List(cmd.Context(), *limit)
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(p.Out, map[string]any{"sessions": rest.Summarize(list)})
			}
			if err := writeSessions(p.Out, list); err != nil {
				return err
			}
			switch {
			case len(list) == 0:
				p.Err.Printf("No sessions are stored.\n")
			case more:
				p.Err.Printf("There are more sessions: see --limit and --all.\n")
			}
			return nil
		})
	}
	return c
}

func showSession(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Print the record of a session as Markdown",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.firstID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSession(cmd, args[0], func(s *copilot.Session) error {
				return export.Markdown(p.Out, s.Info(), follow.Snapshot(cmd.Context(), s.Record()))
			})
		},
	}
}

func searchSessions(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "search WORDS…", Short: "Find the prompts, answers and titles that contain all the words", Args: cobra.MinimumNArgs(1),
		Example: "  portal sessions search race condition",
	}
	asJSON := c.Flags().Bool("json", false, "print them as JSON, as api/copilot/search does")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withSessions(cmd, slog.LevelError, func(s *server.Sessions) error {
			found, err := s.Search(cmd.Context(), strings.Join(args, " "))
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(p.Out, map[string]any{"results": rest.Hits(found)})
			}
			if len(found) == 0 {
				p.Err.Printf("No matches.\n")
			}
			return writeFound(p.Out, found)
		})
	}
	return c
}

func exportSession(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "export ID", Short: "Write a session to a file, as Markdown or JSONL",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.firstID,
		Example: "  portal sessions export 3f2a -o talk.md\n  portal sessions export 3f2a --format jsonl",
	}
	format := c.Flags().String("format", "markdown", "markdown, or jsonl with one event per line")
	output := c.Flags().StringP("output", "o", "", "file to write; an existing file is replaced (default: standard output)")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		write := export.Markdown
		switch *format {
		case "markdown":
		case "jsonl":
			write = export.JSONL
		default:
			return fmt.Errorf("%w--format %q: use markdown or jsonl", errUsage, *format)
		}
		return p.withSession(cmd, args[0], func(s *copilot.Session) error {
			return p.writeTo(*output, func(w io.Writer) error { return write(w, s.Info(), follow.Snapshot(cmd.Context(), s.Record())) })
		})
	}
	return c
}

// writeTo writes to a file, or to standard output if the path is "" or "-". It replaces an existing file, also behind a link, only
// after a complete write, and writes directly to a device or pipe. Only this user may read the file.
func (p Process) writeTo(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		return write(p.Out)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0) //nolint:gosec // the user names it
		if err != nil {
			return err
		}
		return writeAndClose(f, write)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".portal-export-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // fails after a successful rename, as intended
	if err := writeAndClose(f, write); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writeAndClose(f *os.File, write func(io.Writer) error) error {
	return errors.Join(write(f), f.Close())
}

func renameSession(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "rename ID TITLE…", Short: "Set the title of a session; the agent does not change it afterwards",
		Args: cobra.MinimumNArgs(2), ValidArgsFunction: p.firstID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSession(cmd, args[0], func(s *copilot.Session) error {
				return s.Rename(cmd.Context(), strings.Join(args[1:], " "))
			})
		},
	}
}
