//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

// Package flock locks files against other processes.
package flock

import (
	"context"
	"os"
)

// Lock does nothing here and returns no file, whose Close has no effect: SQLite's own locks have to suffice, and a second portal must not
// take checkpoints of the same directory.
func Lock(context.Context, string) (*os.File, error) { return nil, nil } //nolint:nilnil // there is none
