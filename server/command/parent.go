package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// These flags are for a portal that another program, such as an IDE, starts and that must end with it.
const (
	parentFlag = "parent-pid"
	eofFlag    = "exit-on-eof"
)

// parentEvery is how often the portal checks whether the parent is alive.
const parentEvery = 500 * time.Millisecond

// watchParent calls end when the parent ends, which the flags say how to detect. It returns immediately.
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
		return fmt.Errorf("%w--%s: %d is not a process id", errUsage, parentFlag, pid)
	}
	if pid > 0 {
		go func() {
			awaitEnd(ctx, pid)
			end()
		}()
	}
	if byInput && p.In != nil {
		go func() {
			_, _ = io.Copy(io.Discard, p.In) // an error ends it, too
			end()
		}()
	}
	return nil
}
