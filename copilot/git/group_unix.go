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

// withoutTerminal starts a process in a session of its own, so that nothing that it starts can ask in the terminal of the portal, and
// ends it with all its children when its context ends.
func withoutTerminal(c *exec.Cmd) {
	ownGroup(c)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
