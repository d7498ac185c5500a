//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package checkpoint

import (
	"context"
	"os"
)

// lockFile does nothing here: a second portal must not work in the same directory.
func lockFile(context.Context, string) (*os.File, error) { return nil, nil } //nolint:nilnil // there is none
