package command

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/jobs/book"
	"github.com/copilot-portal/portal/server"
)

// jobsCommand returns the command `portal jobs`.
func jobsCommand(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "jobs",
		Short: "List, check, run and manage the jobs of a job book",
		Long: `A job is a tree of tasks that run in sessions of their own: for example, drafts
that are reviewed, or code that is changed until it builds. A job book defines jobs.
It is the file named by --jobs (jobs.book in the configuration), else
.portal/jobs.yaml in the root of the repository, else the built-in book. Jobs are
stored; portals with the same data directory see them. An ID may be abbreviated to
an unambiguous prefix.`,
		Example: `  portal jobs list
  portal jobs run understand
  portal jobs run refine 'A page about our release process'
  mkdir -p .portal && portal jobs book > .portal/jobs.yaml && portal jobs check`,
		Args: cobra.NoArgs,
		RunE: nameSubcommand,
	}
	c.AddCommand(listBook(p), checkBook(p), runJob(p), jobStatus(p), cancelJob(p), continueJob(p), printBook(p))
	return c
}

// addBookFlag adds the flag that names the job book.
func addBookFlag(c *cobra.Command) *cobra.Command {
	c.Flags().String(bookFlag, "", "job book (default: .portal/jobs.yaml in the repository root, else the built-in one)")
	return c
}

const bookFlag = "jobs"

// bookAt reads the effective job book of a directory and prints its faults.
func (p Process) bookAt(cmd *cobra.Command, dir string) (*book.Book, string, error) {
	config, err := p.load(cmd)
	if err != nil {
		return nil, "", err
	}
	b, file, err := server.FindBook(config, dir)
	if err != nil {
		return nil, file, fmt.Errorf("the job book is not valid:\n%w", err)
	}
	return b, file, nil
}

func listBook(p Process) *cobra.Command {
	c := addBookFlag(&cobra.Command{
		Use: "list", Short: "List the jobs of the book, with the input they need and their first prompt", Args: cobra.NoArgs,
		Example: "  portal jobs list\n  portal jobs list --jobs other.yaml --json",
	})
	asJSON := c.Flags().Bool("json", false, "print them as JSON")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		b, file, err := p.bookAt(cmd, ".")
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(p.Out, map[string]any{"book": file, "jobs": b.Jobs})
		}
		return writeTable(p.Out, slices.Sorted(maps.Keys(b.Jobs)), func(name string) []any {
			needs := ""
			if b.Jobs[name].RequireUserInput {
				needs = "needs input"
			}
			return []any{plain(name, maxName), needs, plain(firstPromptLine(b, b.Jobs[name]), maxExcerpt)}
		})
	}
	return c
}

// firstPromptLine returns the first line of a job's first prompt.
func firstPromptLine(b *book.Book, j book.Job) string {
	for w := range j.Work.All() {
		if w.Kind != book.Ref {
			continue
		}
		for line := range strings.Lines(b.Expand(b.Tasks[w.Task].Prompt, nil)) {
			if line = strings.TrimSpace(line); line != "" {
				return line
			}
		}
	}
	return ""
}

func checkBook(p Process) *cobra.Command {
	c := addBookFlag(&cobra.Command{
		Use: "check [FILE]", Short: "Check a job book and print each fault as file:line: path: text",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		Example: "  portal jobs check\n  portal jobs check other.yaml",
	})
	c.RunE = func(cmd *cobra.Command, args []string) error {
		var b *book.Book
		var file string
		var err error
		if len(args) == 1 {
			file = args[0]
			b, err = server.ReadBook(file)
		} else if b, file, err = p.bookAt(cmd, "."); err == nil && file == "" {
			p.Err.Printf("This repository has no .portal/jobs.yaml: the built-in book is used.\n")
		}
		var faults book.Faults
		switch {
		case errors.As(err, &faults):
			for _, f := range faults {
				_, _ = fmt.Fprintln(p.Out, plain(f.Error(), 1000)) // errSilent sets the exit code even if this fails
			}
			return errSilent
		case err != nil:
			return err
		}
		p.Err.Printf("%s is fine: %d jobs, %d tasks.\n", cmp.Or(file, "The built-in book"), len(b.Jobs), len(b.Tasks))
		return nil
	}
	return c
}

func printBook(p Process) *cobra.Command {
	return &cobra.Command{
		Use: "book", Short: "Print the built-in job book, as a start for your own", Args: cobra.NoArgs,
		Example: "  mkdir -p .portal && portal jobs book > .portal/jobs.yaml",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(p.Out, book.BuiltInText())
			return err
		},
	}
}

// knownJobs completes the names of jobs.
func (p Process) knownJobs(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	dir, _ := cmd.Flags().GetString(directoryFlag) // the command defines it
	b, _, err := p.bookAt(cmd, dir)
	if len(args) > 0 || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, name := range slices.Sorted(maps.Keys(b.Jobs)) {
		names = append(names, cobra.CompletionWithDesc(name, plain(firstPromptLine(b, b.Jobs[name]), maxTitle)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// directoryOf returns the directory that the flag names. It returns an error if it is not a directory.
func directoryOf(cmd *cobra.Command) (string, error) {
	dir, err := cmd.Flags().GetString(directoryFlag)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	if err != nil {
		return "", fmt.Errorf("%w--%s: %w", errUsage, directoryFlag, err)
	}
	return filepath.Abs(dir)
}
