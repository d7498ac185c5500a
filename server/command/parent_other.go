//go:build !windows

package command

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// awaitEnd returns when the process has ended or ctx is done. If the process is our parent, a changed parent
// id shows its end even while it is a zombie.
func awaitEnd(ctx context.Context, pid int) {
	process, err := os.FindProcess(pid) // keeps a handle, so that a reused id is not mistaken for it
	if err != nil {
		return
	}
	ours := os.Getppid() == pid
	every := time.NewTicker(parentEvery)
	defer every.Stop()
	for {
		if errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) || ours && os.Getppid() != pid {
			return
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}
