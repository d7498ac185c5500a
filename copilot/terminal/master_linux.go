package terminal

import (
	"os"
	"syscall"
)

// interruptible returns the master of a terminal as a file whose Close and deadlines end a pending Read, and closes the given one:
// the library makes it block.
func interruptible(master *os.File) (*os.File, error) {
	defer master.Close() //nolint:errcheck // it is replaced
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, master.Fd(), syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return nil, errno
	}
	if err := syscall.SetNonblock(int(fd), true); err != nil {
		_ = syscall.Close(int(fd))
		return nil, err
	}
	return os.NewFile(fd, master.Name()), nil // its Fd leaves it as it is
}
