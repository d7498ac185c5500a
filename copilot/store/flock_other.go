//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package store

import "context"

// lock does nothing here; SQLite's own locks have to suffice.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }
