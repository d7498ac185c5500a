package command

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/server"
)

// doctor is `portal doctor`.
func doctor(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor [port]",
		Short: "Check whether sessions can be started, and say what to do if not",
		Long: `doctor looks at the configuration, the data directory, the port, the Copilot CLI,
its sign-in, the providers of further models (which it asks), the demo, and the
models that result. It takes the flags of portal. Code 0 says that a session can
be started, 1 that something keeps it from that: a line with "problem" says what.`,
		Example: "  portal doctor\n  portal doctor --json 9000",
	}
	asJSON := c.Flags().Bool("json", false, "print the findings as JSON")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		r := report{process: p, json: *asJSON, Checks: []server.Finding{}, OK: true, Version: p.Version}
		if err := r.examine(cmd); err != nil {
			return err
		}
		return r.end()
	}
	return c
}

// report collects what is found. Its exported fields are the JSON form.
type report struct {
	OK      bool             `json:"ok"` // a session can be started
	Version string           `json:"version"`
	Checks  []server.Finding `json:"checks"`

	process Process
	json    bool
}

func (r *report) examine(cmd *cobra.Command) error {
	config, fault := r.process.load(cmd)
	if fault != nil {
		r.add(server.Finding{
			Check: "configuration", Level: server.LevelProblem, Message: fault.Error(),
			Hint: "Correct it; nothing else was looked at.",
		})
		return cmd.Context().Err()
	}
	quiet := slog.LevelError + 1 // the findings say it all
	return server.Examine(cmd.Context(), config, r.process.logger(config, quiet), r.add, func(left []string) {
		r.process.Err.Printf("… still looking at: %s\n", strings.Join(left, ", "))
	})
}

// add takes a finding and prints it, unless all are printed together.
func (r *report) add(f server.Finding) {
	r.Checks = append(r.Checks, f)
	r.OK = r.OK && f.Level != server.LevelProblem
	if r.json {
		return
	}
	const width = 25 // of the two columns
	indent := "\n" + strings.Repeat(" ", width)
	text := strings.ReplaceAll(strings.TrimSpace(f.Message), "\n", indent)
	if f.Hint != "" {
		text += indent + f.Hint
	}
	_, _ = fmt.Fprintf(r.process.Out, "%-8s %-*s %s\n", f.Level, width-10, f.Check, text) // end tells
}

// end prints what all findings amount to.
func (r *report) end() error {
	var err error
	switch {
	case r.json:
		err = writeJSON(r.process.Out, r)
	case r.OK:
		_, err = fmt.Fprintln(r.process.Out, "\nSessions can be started.")
	default:
		_, err = fmt.Fprintln(r.process.Out, "\nSessions cannot be started yet: see the problems above.")
	}
	if err == nil && !r.OK {
		return errSilent
	}
	return err
}
