package command

import (
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

// sessions is `portal sessions`.
func sessions(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, search, export, rename and delete the stored sessions, and revoke what they remember",
		Long: `sessions works on the data directory itself, whether or not a portal is running.
A session that a portal works with can be read here; only there can it be
changed. Of an ID its beginning is enough, as long as no other begins so.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return fmt.Errorf("%wwhat about the sessions? There are list, show, search, export, rename, delete, permissions and revoke", errUsage)
		},
	}
	c.AddCommand(listSessions(p), showSession(p), searchSessions(p), exportSession(p), renameSession(p), deleteSessions(p),
		sessionPermissions(p), revokePermission(p))
	return c
}

// withSessions does something with the sessions of the data directory.
func (p Process) withSessions(cmd *cobra.Command, usual slog.Level, do func(*server.Sessions) error) error {
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	if config.Ephemeral {
		return fmt.Errorf("%wwith --ephemeral no sessions are kept that this could be about", errUsage)
	}
	return server.WithSessions(cmd.Context(), config, p.logger(config, usual), do)
}

// withSession does something with one of them.
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
		Use: "list", Short: "List sessions, those first in which something happened last", Args: cobra.NoArgs,
		Example: "  portal sessions list\n  portal sessions list --all --json",
	}
	asJSON := c.Flags().Bool("json", false, "print them as JSON, as api/copilot/session does")
	limit := c.Flags().Int("limit", 20, "how many")
	all := c.Flags().Bool("all", false, "all of them")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case *all && cmd.Flags().Changed("limit"):
			return fmt.Errorf("%wsay --limit or --all, not both", errUsage)
		case *all:
			*limit = 0
		case *limit < 1:
			return fmt.Errorf("%w--limit: at least 1", errUsage)
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
				p.Err.Printf("There are more: see --limit and --all.\n")
			}
			return nil
		})
	}
	return c
}

func showSession(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Print what was said and done in a session, as Markdown",
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
		Use: "search WORDS…", Short: "Find the prompts, answers and titles that have all the words", Args: cobra.MinimumNArgs(1),
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
				p.Err.Printf("Nothing was found.\n")
			}
			return writeFound(p.Out, found)
		})
	}
	return c
}

func exportSession(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "export ID", Short: "Write a session to a file, for people or for programs",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.firstID,
		Example: "  portal sessions export 3f2a -o talk.md\n  portal sessions export 3f2a --format jsonl",
	}
	format := c.Flags().String("format", "markdown", "markdown, or jsonl: an event a line")
	output := c.Flags().StringP("output", "o", "", "file, which is replaced (default: standard output)")
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

// writeTo writes a file, which is replaced only when all is written, or standard
// output. What was said is for this user's eyes.
func (p Process) writeTo(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		return write(p.Out)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".portal-export-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is gone when all went well
	err = write(f)
	if end := f.Close(); err == nil {
		err = end
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func renameSession(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "rename ID TITLE…", Short: "Give a session a title, which the agent does not change any more",
		Args: cobra.MinimumNArgs(2), ValidArgsFunction: p.firstID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSession(cmd, args[0], func(s *copilot.Session) error {
				return s.Rename(cmd.Context(), strings.Join(args[1:], " "))
			})
		},
	}
}
