// Command portal gives every kind of client access to GitHub Copilot's coding agent at the same time.
// README.md explains how to use it; spec/ describes its protocols.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/command"
)

// version is set by the Makefile at link time. Without it, as with go install, the build information has it.
var version = ""

func main() { os.Exit(run()) }

func run() int {
	// Standard output is reserved for the protocols, but the SDK prints to it on errors. Writes to standard
	// error must never block, even if nobody reads it.
	stdout, stderr := os.Stdout, server.NewLog(os.Stderr)
	defer stderr.Close(500 * time.Millisecond)
	divertPrints(stderr)

	ctx, cancel := signal.NotifyContext(context.Background(), endings()...)
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(sameStop, cancel) }) // a later Ctrl-C kills the process at once

	return command.Run(ctx, os.Args[1:], command.Process{
		Name: os.Args[0], Version: ownVersion(), Environ: os.Environ(),
		In: os.Stdin, Out: stdout, Err: stderr, Terminal: os.Stderr,
	})
}

// sameStop is how long after the first signal others belong to the same stop: a terminal that is closed and a wrapper that
// forwards signals send two.
const sameStop = time.Second

// ownVersion returns the version of this program, or "dev".
func ownVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// endings returns the signals that shut the portal down gracefully.
func endings() []os.Signal {
	// A parent that closes our standard output must not kill us with SIGPIPE on the next write. The signal is
	// caught rather than ignored because child processes inherit ignored signals.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // ignored under nohup
		list = append(list, syscall.SIGHUP) // the terminal was closed
	}
	return list
}

// divertPrints redirects what libraries print to the log.
func divertPrints(to io.Writer) {
	log.SetOutput(to)
	r, w, err := os.Pipe()
	if err != nil {
		os.Stdout = os.Stderr
		return
	}
	os.Stdout = w
	go io.Copy(to, r) //nolint:errcheck // runs until the process ends
}
