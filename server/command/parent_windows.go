package command

import (
	"context"
	"syscall"
)

// awaitEnd returns when the process has ended or ctx is done.
func awaitEnd(ctx context.Context, pid int) {
	process, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid)) //nolint:gosec // the flag is checked
	if err != nil {
		return
	}
	defer syscall.CloseHandle(process) //nolint:errcheck // nothing was written
	for ctx.Err() == nil {
		event, err := syscall.WaitForSingleObject(process, uint32(parentEvery.Milliseconds()))
		if err != nil || event != syscall.WAIT_TIMEOUT {
			return
		}
	}
}
