package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// The flags of a portal that belongs to another program, such as an IDE, and ends
// with it.
const (
	parentFlag = "parent-pid"
	eofFlag    = "exit-on-eof"
)

// parentEvery is how often it is looked whether the parent lives.
const parentEvery = 500 * time.Millisecond

// watchParent calls end when the parent has ended, as the flags say how to notice.
func watchParent(ctx context.Context, cmd *cobra.Command, p Process, end func()) error {
	pid, err := cmd.Flags().GetInt(parentFlag)
	if err != nil {
		return err
	}
	byInput, err := cmd.Flags().GetBool(eofFlag)
	if err != nil {
		return err
	}
	if pid < 0 || pid == 0 && cmd.Flags().Changed(parentFlag) {
		return fmt.Errorf("%w--%s: %d is no process id", errUsage, parentFlag, pid)
	}
	if pid > 0 {
		go func() {
			awaitEnd(ctx, pid)
			end()
		}()
	}
	if byInput && p.In != nil {
		go func() {
			_, _ = io.Copy(io.Discard, p.In) // an error is an end, too
			end()
		}()
	}
	return nil
}

// awaitEnd waits until a process has ended. If it is our parent, a change of that
// tells so even while nobody has taken note of its end.
func awaitEnd(ctx context.Context, pid int) {
	process, err := os.FindProcess(pid) // holds on to it, whoever gets its id next
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
