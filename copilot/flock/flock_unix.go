//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

// Package flock locks files against other processes.
package flock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// Lock creates the file if there is none, and waits until no other process has locked it. The lock lasts until the file is closed here and in
// all processes that inherited it. Errors: those of ctx and of the file system.
func Lock(ctx context.Context, name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // below the data directory
	if err != nil {
		return nil, err
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, err
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		case <-again.C:
		}
	}
}
