package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/cli"
	"github.com/copilot-portal/portal/jobs/studio"
)

// newStudio makes the one studio of a portal.
func newStudio(c Config, host *copilot.Host) *studio.Host {
	d, _ := permission.ParseDecision(c.Permissions.CLI) // check has validated it
	model := c.Model
	if model == "" && c.Demo {
		model = demo.ModelID // who asks for it here wants no other
	}
	return studio.New(studio.Options{
		Sessions: host, Policy: permission.Everywhere(d), Model: model, Directory: workDir(), Running: c.Limits.Studio,
	})
}

// newCLI makes the dialect of apps that start a CLI.
func (k *portalCore) newCLI() *cli.API {
	return cli.New(cli.Options{Studio: k.studio, Version: k.version, Log: k.log})
}

// CLI is a portal of its own for one app, which speaks the Copilot CLI Protocol on streams. It opens no port. It returns nil when
// in ends, when ctx does and when the app says exit: sessions are closed, agent processes ended. in is closed in any case.
func CLI(ctx context.Context, c Config, version string, log *slog.Logger, in io.ReadCloser, out io.Writer) error {
	k := newCore(ctx, c, version, log)
	err := k.serveStreams(ctx, func(ctx context.Context, _ func()) streamSession {
		return newTalk(ctx, in, out, jsonrpc.LineOptions{Max: cli.MaxMessage, ASCII: true}, func(ctx context.Context, carrier jsonrpc.Carrier) error {
			return k.newCLI().Serve(ctx, carrier, interrupt)
		})
	})
	if err != nil {
		return fmt.Errorf("the app cannot be spoken with any more: %w", err)
	}
	return nil
}
