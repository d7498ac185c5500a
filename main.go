// Command portal gives GitHub Copilot's coding agent to every client at once.
// README.md says how to use it, spec/ what it speaks.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/command"
)

// version is stamped in by the Makefile.
var version = "dev"

func main() { os.Exit(run()) }

func run() int {
	// Standard output belongs to the protocols; the SDK prints to it when it
	// meets a fault. Nothing may block on a standard error that nobody reads.
	stdout, stderr := os.Stdout, server.NewLog(os.Stderr)
	defer stderr.Close(200 * time.Millisecond)
	divertPrints(stderr)

	ctx, cancel := signal.NotifyContext(context.Background(), endings()...)
	defer cancel()
	context.AfterFunc(ctx, cancel) // a second Ctrl-C ends at once

	return command.Run(ctx, os.Args[1:], command.Process{
		Name: os.Args[0], Version: version, Environ: os.Environ(),
		In: os.Stdin, Out: stdout, Err: stderr, Terminal: os.Stderr,
	})
}

// endings are the signals that end the portal gently.
func endings() []os.Signal {
	// A parent that closes our output must not kill us with the next line that we
	// write there. Not ignored, for the agent and its commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		list = append(list, syscall.SIGHUP) // the terminal was closed
	}
	return list
}

// divertPrints sends what libraries print to the log.
func divertPrints(to io.Writer) {
	log.SetOutput(to)
	r, w, err := os.Pipe()
	if err != nil {
		os.Stdout = os.Stderr
		return
	}
	os.Stdout = w
	go io.Copy(to, r) //nolint:errcheck // for as long as the process lives
}
