//go:build unix

package git

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup starts a process in a group of its own, and ends it with all its children when its context ends.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
