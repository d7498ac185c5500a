package server

import (
	"context"
	"io"
	"log/slog"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/cli"
	"github.com/copilot-portal/portal/jobs/studio"
)

// newStudio creates the studio of a portal.
func newStudio(c Config, host *copilot.Host) *studio.Host {
	model := c.Model
	if model == "" && c.Demo {
		model = demo.ModelID // a user of the demo wants no other model
	}
	return studio.New(studio.Options{
		Sessions: host, Policy: permission.Everywhere(c.Permissions.CLI), Model: model, Directory: workDir(), Running: c.Limits.Studio,
	})
}

// newCLI creates the dialect of apps that start a CLI.
func (k *portalCore) newCLI() *cli.API {
	return cli.New(cli.Options{Studio: k.studio, Version: k.version, Log: k.log})
}

// CLI runs a portal for a single app that speaks the Copilot CLI Protocol on in and out. It opens no port. It
// returns nil when in ends, ctx is done or the app calls exit, after it has closed the sessions and stopped
// the agents. It always closes in.
func CLI(ctx context.Context, c Config, version string, log *slog.Logger, in io.ReadCloser, out io.Writer) error {
	k := newCore(ctx, c, version, log)
	return k.serveStreams(ctx, "app", in, out, func(ctx context.Context, in watchedInput, out io.WriteCloser, _ func()) error {
		return k.newCLI().Serve(ctx, jsonrpc.NewLines(in, out, jsonrpc.LineOptions{Max: cli.MaxMessage, ASCII: true}), interrupt, in.ended)
	})
}
