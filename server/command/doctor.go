package command

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/server"
)

// doctor returns the command `portal doctor`.
func doctor(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor [port]",
		Short: "Check whether sessions can start, and say what to do if not",
		Long: `doctor checks the configuration, the data directory, the port, the Copilot CLI and
its sign-in, the demo and the available models. It also sends a request to each
provider of models. It accepts the flags of portal. The exit code is 0 if sessions
can start, and 1 if not; then a line that begins with "problem" says why.`,
		Example: "  portal doctor\n  portal doctor --json 9000",
	}
	asJSON := c.Flags().Bool("json", false, "print the findings as JSON")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		r := newReport(p, *asJSON, "Sessions can start.", "Sessions cannot start: see the problems above.")
		if err := r.examine(cmd); err != nil {
			return err
		}
		return r.end()
	}
	return c
}

// report collects the findings. Its exported fields are the JSON output.
type report struct {
	OK      bool             `json:"ok"` // there is no problem
	Version string           `json:"version"`
	Checks  []server.Finding `json:"checks"`

	process   Process
	json      bool
	good, bad string // conclusions
}

func newReport(p Process, asJSON bool, good, bad string) *report {
	return &report{process: p, json: asJSON, good: good, bad: bad, Checks: []server.Finding{}, OK: true, Version: p.Version}
}

func (r *report) examine(cmd *cobra.Command) error {
	config, fault := r.process.load(cmd)
	if fault != nil {
		r.add(server.Finding{
			Check: "configuration", Level: server.LevelProblem, Message: fault.Error(),
			Hint: "Correct the configuration and run doctor again: the other checks did not run.",
		})
		return cmd.Context().Err()
	}
	quiet := slog.LevelError + 1 // the findings say everything
	return server.Examine(cmd.Context(), config, r.process.logger(config, quiet), r.add, func(left []string) {
		r.process.Err.Printf("… still checking: %s\n", strings.Join(left, ", "))
	})
}

// add records a finding and prints it, unless the output is JSON.
func (r *report) add(f server.Finding) {
	r.Checks = append(r.Checks, f)
	r.OK = r.OK && f.Level != server.LevelProblem
	if r.json {
		return
	}
	const width = 25 // of the first two columns
	indent := "\n" + strings.Repeat(" ", width)
	text := strings.ReplaceAll(strings.TrimSpace(f.Message), "\n", indent)
	if f.Hint != "" {
		text += indent + f.Hint
	}
	_, _ = fmt.Fprintf(r.process.Out, "%-8s %-*s %s\n", f.Level, width-10, f.Check, text) // end reports write errors
}

// end prints the conclusion.
func (r *report) end() error {
	var err error
	switch {
	case r.json:
		err = writeJSON(r.process.Out, r)
	case r.OK:
		_, err = fmt.Fprintln(r.process.Out, "\n"+r.good)
	default:
		_, err = fmt.Fprintln(r.process.Out, "\n"+r.bad)
	}
	if err == nil && !r.OK {
		return errSilent
	}
	return err
}
