package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/server"
)

// clusterCommand returns the command `portal cluster`.
func clusterCommand(p Process) *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Show, drain and check the portals and NATS servers that share sessions, or leave them",
		Long: `cluster works directly on the servers that cluster.nats names, whether or not a
portal runs on this machine. See spec/cluster.md.`,
		Args: cobra.NoArgs,
		RunE: nameSubcommand,
	}
	c.AddCommand(clusterStatus(p), clusterDrain(p), clusterCheck(p), clusterLeave(p))
	return c
}

// withCluster calls do with the configured cluster.
func (p Process) withCluster(cmd *cobra.Command, do func(*server.ClusterClient) error) error {
	config, err := p.load(cmd)
	if err != nil {
		return err
	}
	return server.WithCluster(config, do)
}

func clusterStatus(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "List the portals of the cluster, with their sessions and how far behind they are", Args: cobra.NoArgs,
		Example: "  portal cluster status\n  portal cluster status --json",
	}
	asJSON := c.Flags().Bool("json", false, "print it as JSON, as api/cluster does")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withCluster(cmd, func(v *server.ClusterClient) error {
			s, err := v.Status(cmd.Context())
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(p.Out, s)
			}
			return writeCluster(p.Out, s)
		})
	}
	return c
}

// writeCluster writes a table of the nodes.
func writeCluster(out io.Writer, s server.ClusterStatus) error {
	if len(s.Nodes) == 0 {
		_, err := fmt.Fprintf(out, "Cluster %s has %d messages and no portals that run.\n", s.Name, s.Newest)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NODE\tSTATE\tSESSIONS\tRUNS\tWAITING\tBEHIND\tHEARD\tPID\tPROCESS\tDIRECTORIES") // Flush reports errors
	for _, n := range s.Nodes {
		heard := (time.Duration(n.SilentMs) * time.Millisecond).Round(100 * time.Millisecond)
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d of %d\t%d\t%d\t%d\t%s ago\t%d\t%s\t%s\n", n.Node, n.State, n.Sessions, n.MaxSessions, n.Runs,
			n.Waiting, n.Behind, heard, n.PID, n.Process, cmp.Or(strings.Join(n.Directories, " "), "all"))
	}
	return w.Flush()
}

func clusterDrain(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "drain [NODE]", Short: "Make a portal open no sessions, hand over its idle ones, and wait for its runs", Args: cobra.MaximumNArgs(1),
		Long: `drain makes the portal of a node (default: cluster.name) open no more sessions and
hand over those that are idle, and waits for its runs. Afterwards it can be stopped
without interrupting anybody. The exit code is 1 if something is left at the end of
the limit; the portal then goes on draining. --undo makes it open sessions again.`,
		Example: "  portal cluster drain\n  portal cluster drain node-2 --limit 1h\n  portal cluster drain node-2 --undo",
	}
	limit := c.Flags().Duration("limit", 10*time.Minute, "how long to wait for its runs")
	undo := c.Flags().Bool("undo", false, "end draining")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		node := strings.Join(args, "")
		return p.withCluster(cmd, func(v *server.ClusterClient) error {
			if *undo {
				_, err := v.Drain(cmd.Context(), node, false)
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), *limit)
			defer cancel()
			return p.drain(cmd.Context(), ctx, v, node)
		})
	}
	return c
}

// drainPoll is the interval at which drain looks at what is left.
const drainPoll = time.Second

// drain drains a node until nothing is left or limited ends. It reports changes.
func (p Process) drain(ctx, limited context.Context, v *server.ClusterClient, node string) error {
	every := time.NewTicker(drainPoll)
	defer every.Stop()
	for before := (copilot.Draining{}); ; {
		left, err := v.Drain(ctx, node, true)
		switch {
		case err != nil:
			return err
		case left.Sessions == 0:
			p.Err.Printf("The portal is drained: it holds no sessions.\n")
			return nil
		case left != before:
			p.Err.Printf("left: %d open sessions, %d of them with a run\n", left.Sessions, left.Runs)
			before = left
		}
		select {
		case <-every.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("the portal still holds %d sessions with %d runs: wait longer with --limit, or stop it, which interrupts them", left.Sessions, left.Runs)
		}
	}
}

func clusterCheck(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "check", Short: "Check whether the NATS servers are fit for the cluster", Args: cobra.NoArgs,
		Long: `check connects to the NATS servers as a portal does. The exit code is 1 if they
are not fit for the cluster as configured; then a line that begins with "problem"
says why. A client cannot see whether they write to the disk before they acknowledge:
name the addresses at which they show their state with --monitoring.`,
		Example: "  portal cluster check --monitoring http://nats-1:8222,http://nats-2:8222,http://nats-3:8222",
	}
	asJSON := c.Flags().Bool("json", false, "print the findings as JSON")
	monitoring := c.Flags().StringSlice("monitoring", nil, "addresses of the servers' monitoring over HTTP, separated by commas")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := p.load(cmd)
		if err != nil {
			return err
		}
		r := newReport(p, *asJSON, "The cluster can use these servers.", "The cluster cannot use these servers: see the problems above.")
		if err := server.CheckCluster(cmd.Context(), config, *monitoring, r.add); err != nil {
			return err
		}
		return r.end()
	}
	return c
}

func clusterLeave(p Process) *cobra.Command {
	c := &cobra.Command{
		Use: "leave", Short: "Make the data directory independent of its cluster", Args: cobra.NoArgs,
		Long: `leave ends the part of the data directory in its cluster. It keeps all sessions, also
those of other nodes, as they are now; from then on, each side goes on alone. Stop the
portal first. A portal without cluster.nats only reads the data directory of a node.`,
		Example: "  portal cluster leave\n  portal cluster leave --data-dir DIR",
	}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := p.load(cmd)
		if err != nil {
			return err
		}
		if err := config.CheckDataDir(); err != nil {
			return err
		}
		name, err := server.LeaveCluster(cmd.Context(), config.DataDir)
		switch {
		case err != nil:
			return err
		case name == "":
			p.Err.Printf("%s belongs to no cluster.\n", config.DataDir)
		default:
			p.Err.Printf("%s has left the cluster %s. Remove cluster.nats from the configuration before you start a portal.\n", config.DataDir, name)
		}
		return nil
	}
	return c
}
